import { assert } from '../base/assert.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import { topicConfigs } from './config-defs.ts'
import { type BrokerContext, topicValue } from './config-view.ts'

/** The value of a topic key, in its normal form; '' for the few keys that may have none. */
export type TopicConfigSource = (key: string) => string

/**
 * The configs that hold for a topic on `broker`, ready for use: its own, else the broker's, else the defaults, with
 * `min.insync.replicas` at most the replication factor and `segment.bytes` as tests may have overridden it.
 */
export function topicConfigSource(image: MetadataImage, broker: BrokerContext, topic: string): TopicConfigSource {
  const own = image.configOf({ type: ResourceType.topic, name: topic })
  const replicationFactor = image.topic(topic)?.partitions[0]?.replicas.length ?? 1
  const text = (key: string): string => {
    const def = topicConfigs.get(key)
    assert(def !== undefined, `topic config ${key} is not in the table`)
    return topicValue(image, broker, own, def, replicationFactor).value ?? ''
  }
  return (key) => {
    if (key === 'segment.bytes') return text('internal.segment.bytes') || text(key)
    if (key === 'min.insync.replicas') return String(Math.min(Number(text(key)), replicationFactor))
    return text(key)
  }
}

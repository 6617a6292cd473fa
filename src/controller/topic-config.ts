import { assert } from '../base/assert.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import type { ConfigDef } from './config-def.ts'
import { topicConfigs } from './config-defs.ts'
import { type BrokerContext, ConfigSource, topicValue } from './config-view.ts'

/** The value of a topic key, in its normal form; '' for the few keys that may have none. */
export type TopicConfigSource = (key: string) => string

/**
 * The configs that hold for a topic on `broker`, ready for use: its own, else the broker's, else the defaults, with
 * `segment.bytes` as tests may have overridden it. `min.insync.replicas` is '' where nobody set it: what that means
 * depends on a partition's copies (`minInsync`).
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
    if (key === 'min.insync.replicas') return configuredMinInsync(image, broker, topic)?.toString() ?? ''
    return text(key)
  }
}

/** `min.insync.replicas` as somebody set it, for the topic or for all; null where nobody did. */
export function configuredMinInsync(image: MetadataImage, broker: BrokerContext, topic: string): number | null {
  const own = image.configOf({ type: ResourceType.topic, name: topic })
  const { synonyms } = topicValue(image, broker, own, topicConfigs.get('min.insync.replicas') as ConfigDef, 1)
  const set = synonyms.find(({ source }) => source !== ConfigSource.default)
  return set === undefined ? null : Number(set.value)
}

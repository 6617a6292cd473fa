import {
  type BrokerImage,
  type ConfigResource,
  configKey,
  type MetadataImage,
  type PartitionImage,
  type TopicImage,
} from './image.ts'

export interface PartitionChange {
  readonly topic: TopicImage
  readonly partition: number
  /** Null: the partition is new. */
  readonly before: PartitionImage | null
  readonly after: PartitionImage
}

export interface BrokerChange {
  readonly before: BrokerImage | null
  /** Null: unregistered. */
  readonly after: BrokerImage | null
}

/** The keys that differ, or may differ, between two images. */
export interface TouchedKeys {
  readonly topicIds: Iterable<string>
  readonly brokerIds: Iterable<number>
  readonly configs: Iterable<string>
}

/**
 * What is different between two images, for those who act on it. A topic deleted and created again under its name
 * shows up twice: deleted with the old id, created with the new one; act on deletions first.
 */
export interface MetadataChanges {
  readonly before: MetadataImage
  readonly after: MetadataImage
  /** As they last were. */
  readonly deletedTopics: readonly TopicImage[]
  readonly createdTopics: readonly TopicImage[]
  /** Of created topics all partitions, of others those that are new or have a new partition epoch. */
  readonly partitions: readonly PartitionChange[]
  readonly brokers: readonly BrokerChange[]
  /** Resources whose own values differ; a resource that lost its last value, or its topic, is here too. */
  readonly configs: readonly ConfigResource[]
  readonly featuresChanged: boolean
}

/** `touched` must name at least all keys that differ; each is compared, so naming more is only slower. */
export function changesBetween(
  before: MetadataImage,
  after: MetadataImage,
  touched: TouchedKeys = allKeys(before, after),
): MetadataChanges {
  const deletedTopics: TopicImage[] = []
  const createdTopics: TopicImage[] = []
  const partitions: PartitionChange[] = []
  for (const topicId of touched.topicIds) {
    const old = before.topicById(topicId)
    const topic = after.topicById(topicId)
    if (old === topic) continue
    if (topic === undefined) deletedTopics.push(old as TopicImage)
    else {
      if (old === undefined) createdTopics.push(topic)
      for (const [partition, image] of topic.partitions.entries()) {
        const was = old?.partitions[partition] ?? null
        if (was !== image) partitions.push({ topic, partition, before: was, after: image })
      }
    }
  }
  const brokers: BrokerChange[] = []
  for (const brokerId of touched.brokerIds) {
    const change = { before: before.broker(brokerId) ?? null, after: after.broker(brokerId) ?? null }
    if (change.before !== change.after) brokers.push(change)
  }
  const configs: ConfigResource[] = []
  for (const key of touched.configs) {
    const old = before.configs.get(key)
    const now = after.configs.get(key)
    if (old !== now) configs.push((now ?? old) as ConfigResource)
  }
  const featuresChanged = before.features !== after.features
  return { before, after, deletedTopics, createdTopics, partitions, brokers, configs, featuresChanged }
}

function allKeys(before: MetadataImage, after: MetadataImage): TouchedKeys {
  const [a, b] = [keysOf(before), keysOf(after)]
  return {
    topicIds: new Set([...a.topicIds, ...b.topicIds]),
    brokerIds: new Set([...a.brokerIds, ...b.brokerIds]),
    configs: new Set([...a.configs, ...b.configs]),
  }
}

function keysOf(image: MetadataImage): TouchedKeys {
  return { topicIds: image.topicsById.keys(), brokerIds: image.brokers.keys(), configs: image.configs.keys() }
}

/** The keys that some changes are about; to join them with others. */
export function touchedBy(changes: MetadataChanges): TouchedKeys {
  const { deletedTopics, createdTopics, partitions, brokers, configs } = changes
  const topicIds = new Set<string>()
  for (const { topicId } of [...deletedTopics, ...createdTopics]) topicIds.add(topicId)
  for (const { topic } of partitions) topicIds.add(topic.topicId)
  return {
    topicIds,
    brokerIds: brokers.flatMap(({ before, after }) => (after ?? before)?.brokerId ?? []),
    configs: configs.map(configKey),
  }
}

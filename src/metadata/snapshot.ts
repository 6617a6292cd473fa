import type { BrokerImage, ClientQuotaImage, ConfigsImage, MetadataImage, PartitionImage, TopicImage } from './image.ts'
import type { MetadataRecord, PartitionRecord } from './records.ts'

/**
 * The records that make `image` out of the empty one, in an order in which they can be replayed: features first (they
 * decide how the rest is written), then brokers, topics, and what refers to them. Sorted, so equal images give equal
 * records on every node.
 */
export function* recordsOf(image: MetadataImage): IterableIterator<MetadataRecord> {
  yield* nodeRecords(image)
  for (const topic of image.topicsByName.sorted()) yield* topicRecords(topic)
  yield* settingRecords(image)
}

function* nodeRecords(image: MetadataImage): IterableIterator<MetadataRecord> {
  yield* featureRecords(image)
  for (const broker of image.brokers.sorted()) yield registerBroker(broker)
  for (const { endpoints, ...rest } of image.controllers.sorted()) {
    yield { type: 'RegisterController', value: { ...rest, endPoints: endpoints } }
  }
}

function* settingRecords(image: MetadataImage): IterableIterator<MetadataRecord> {
  for (const configs of image.configs.sorted()) yield* configRecords(configs)
  for (const quota of image.clientQuotas.sorted()) yield* quotaRecords(quota)
  if (image.nextProducerId > 0) {
    yield { type: 'ProducerIds', value: { brokerId: -1, brokerEpoch: -1, nextProducerId: image.nextProducerId } }
  }
  for (const acl of image.acls.sorted()) yield { type: 'AccessControlEntry', value: acl }
  for (const credential of image.scramCredentials.sorted()) yield { type: 'UserScramCredential', value: credential }
  for (const token of image.delegationTokens.sorted()) yield { type: 'DelegationToken', value: token }
}

function* featureRecords(image: MetadataImage): IterableIterator<MetadataRecord> {
  const levels = [...image.features].sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
  for (const [name, featureLevel] of levels) yield { type: 'FeatureLevel', value: { name, featureLevel } }
}

/** A reader must know the version of the metadata before anything else. */
function rank(feature: string): number {
  return feature === 'metadata.version' ? 0 : 1
}

function registerBroker({ endpoints, ...rest }: BrokerImage): MetadataRecord {
  return { type: 'RegisterBroker', value: { ...rest, isMigratingZkBroker: false, endPoints: endpoints } }
}

function* topicRecords({ name, topicId, partitions }: TopicImage): IterableIterator<MetadataRecord> {
  yield { type: 'Topic', value: { name, topicId } }
  for (const [partitionId, partition] of partitions.entries()) {
    yield { type: 'Partition', value: partitionRecord(topicId, partitionId, partition) }
  }
}

function partitionRecord(topicId: string, partitionId: number, partition: PartitionImage): PartitionRecord {
  const { elr, lastKnownElr, ...rest } = partition
  return {
    ...rest,
    topicId,
    partitionId,
    eligibleLeaderReplicas: elr.length > 0 ? elr : null,
    lastKnownElr: lastKnownElr.length > 0 ? lastKnownElr : null,
  }
}

function* configRecords({ type, name, values }: ConfigsImage): IterableIterator<MetadataRecord> {
  for (const [key, value] of [...values].sort(([a], [b]) => (a < b ? -1 : 1))) {
    yield { type: 'Config', value: { resourceType: type, resourceName: name, name: key, value } }
  }
}

function* quotaRecords({ entity, values }: ClientQuotaImage): IterableIterator<MetadataRecord> {
  for (const [key, value] of [...values].sort(([a], [b]) => (a < b ? -1 : 1))) {
    yield { type: 'ClientQuota', value: { entity, key, value, remove: false } }
  }
}

/**
 * 16 hex digits over the contents of an image, its position left out: equal on all nodes that replayed the same log
 * (invariant I12). The hash of a topic is remembered with it, so hashing the next image costs what changed. Not
 * cryptographic.
 */
export function hashOf(image: MetadataImage): string {
  const sum: [number, number] = [0, 0]
  for (const topic of image.topicsByName.values()) {
    let hash = topicHashes.get(topic)
    if (hash === undefined) {
      hash = hashText(JSON.stringify([...topicRecords(topic)]))
      topicHashes.set(topic, hash)
    }
    // A sum, because the order in which a map is walked must not count.
    sum[0] = (sum[0] + hash[0]) >>> 0
    sum[1] = (sum[1] + hash[1]) >>> 0
  }
  const others = hashText(JSON.stringify([...nodeRecords(image), ...settingRecords(image)]))
  return [(sum[0] + others[0]) >>> 0, (sum[1] + others[1]) >>> 0]
    .map((half) => half.toString(16).padStart(8, '0'))
    .join('')
}

const topicHashes = new WeakMap<TopicImage, readonly [number, number]>()

/** Two multiplicative hashes with different factors, mixed at the end as in MurmurHash3. */
function hashText(text: string): readonly [number, number] {
  let a = 0x9747b28c
  let b = 0x1b873593
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x5bd1e995)
    b = Math.imul(b ^ unit, 0x01000193)
    a ^= b >>> 15
  }
  return [mix(a), mix(b)]
}

function mix(word: number): number {
  let mixed = word ^ (word >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  return (mixed ^ (mixed >>> 16)) >>> 0
}

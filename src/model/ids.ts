declare const brand: unique symbol
type Brand<T, Name extends string> = T & { readonly [brand]: Name }

/** A node's number, 0 to 2^31-1; unique in the cluster. Brokers and controllers share the space. */
export type NodeId = Brand<number, 'NodeId'>
/** 16 bytes as Kafka prints them: 22 characters of base64url. A topic keeps it for life; its name may come again. */
export type TopicId = Brand<string, 'TopicId'>
/** Counts the leaders of one partition (or of the quorum); grows with every election. */
export type LeaderEpoch = Brand<number, 'LeaderEpoch'>
/** One incarnation of a broker: the offset of its registration in the metadata log. */
export type BrokerEpoch = Brand<number, 'BrokerEpoch'>

/** All zero bytes: "no id" on the wire. */
export const NO_TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA' as TopicId
/** Of `__cluster_metadata` (KIP-595). */
export const METADATA_TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId
export const METADATA_TOPIC = '__cluster_metadata'

/** The id of one life of a process, from a source of random bytes; none of the two reserved ids, which begin with zero bytes. */
export function newIncarnationId(randomBytes: (length: number) => Buffer): string {
  return Buffer.concat([Buffer.of(1), randomBytes(15)]).toString('base64url')
}

export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** `orders-3`: the name of the partition in logs and of its directory on disk. */
export function partitionName({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}

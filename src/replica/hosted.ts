import { NO_TOPIC_ID } from '../model/ids.ts'
import { MetadataImage } from '../metadata/image.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Partition } from './partition.ts'
import { TopicTraffic } from './topic-traffic.ts'

/** What a request names: by name or by id; the other one is empty. */
export interface PartitionRef {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
}

/** The partitions of this node, by name and by id, and the image they were made from. */
export class HostedPartitions {
  image: MetadataImage = MetadataImage.empty
  /** See `ClusterOptions`. */
  mayBeSucceeded: () => boolean = () => false
  readonly #byTopic = new Map<string, Map<number, Partition>>()
  /** Of topics that have a partition here. */
  readonly #traffic = new Map<string, TopicTraffic>()
  /** Null after a change, until somebody asks. */
  #all: readonly Partition[] | null = null

  /** Another array after each change, and the same one until then. */
  get all(): readonly Partition[] {
    this.#all ??= [...this.#byTopic.values()].flatMap((partitions) => [...partitions.values()])
    return this.#all
  }

  get(topic: string, partition: number): Partition | undefined {
    return this.#byTopic.get(topic)?.get(partition)
  }

  add(partition: Partition): void {
    const { topic, partition: index } = partition.topicPartition
    let partitions = this.#byTopic.get(topic)
    if (partitions === undefined) {
      partitions = new Map()
      this.#byTopic.set(topic, partitions)
    }
    partitions.set(index, partition)
    partition.traffic = this.#traffic.get(topic) ?? new TopicTraffic()
    this.#traffic.set(topic, partition.traffic)
    this.#all = null
  }

  remove(partition: Partition): void {
    const { topic, partition: index } = partition.topicPartition
    const partitions = this.#byTopic.get(topic)
    if (partitions?.get(index) !== partition) return
    partitions.delete(index)
    if (partitions.size === 0) {
      this.#byTopic.delete(topic)
      this.#traffic.delete(topic)
    }
    this.#all = null
  }

  /** By topic. */
  get traffic(): ReadonlyMap<string, Readonly<TopicTraffic>> {
    return this.#traffic
  }

  ofTopic(topic: string): Iterable<Partition> {
    return this.#byTopic.get(topic)?.values() ?? []
  }

  [Symbol.iterator](): ArrayIterator<Partition> {
    return this.all.values()
  }

  /** The name of a topic; null for an id that no topic has (any more). */
  nameOf(topicId: string): string | null {
    return this.image.topicById(topicId)?.name ?? null
  }

  /**
   * The partition when this node leads it in the epoch the client believes in, else why not, with Kafka's codes.
   * `leaderEpoch` is what the client believes; -1: it does not say.
   */
  led(topic: string, index: number, believed: { topicId: string; leaderEpoch: number }): Partition | number {
    const partition = this.#held(topic, index, believed)
    if (typeof partition === 'number') return partition
    return partition.leader === null ? ErrorCode.NOT_LEADER_OR_FOLLOWER : partition
  }

  /** The same where a follower will do (KIP-392). */
  readable(topic: string, index: number, believed: { topicId: string; leaderEpoch: number }): Partition | number {
    const partition = this.#held(topic, index, believed)
    if (typeof partition === 'number') return partition
    const { leader, follower } = partition
    return leader === null && follower === null ? ErrorCode.NOT_LEADER_OR_FOLLOWER : partition
  }

  #held(
    topic: string,
    index: number,
    { topicId, leaderEpoch }: { topicId: string; leaderEpoch: number },
  ): Partition | number {
    const partition = this.get(topic, index)
    if (partition === undefined) return this.#whyNotHere(topic, index)
    if (topicId !== NO_TOPIC_ID && partition.topicId !== topicId) return ErrorCode.INCONSISTENT_TOPIC_ID
    if (partition.isOffline) return ErrorCode.KAFKA_STORAGE_ERROR
    if (leaderEpoch !== -1 && leaderEpoch !== partition.leaderEpoch) {
      return leaderEpoch < partition.leaderEpoch ? ErrorCode.FENCED_LEADER_EPOCH : ErrorCode.UNKNOWN_LEADER_EPOCH
    }
    return partition
  }

  /** Known to the cluster, but not (yet) here, or not known at all. */
  #whyNotHere(topic: string, index: number): number {
    const known = this.image.partition(topic, index) !== undefined
    return known ? ErrorCode.NOT_LEADER_OR_FOLLOWER : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
  }
}

/** Who leads, for the hint in an error answer (KIP-951); -1 for unknown. */
export function leaderHint(
  hosted: HostedPartitions,
  topic: string,
  index: number,
): { leaderId: number; leaderEpoch: number } {
  const image = hosted.image.partition(topic, index)
  return { leaderId: image?.leader ?? -1, leaderEpoch: image?.leaderEpoch ?? -1 }
}

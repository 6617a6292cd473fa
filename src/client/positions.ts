import type { TopicPartition } from '../model/ids.ts'
import type { FetchedRecords } from './fetched-records.ts'
import { PartitionMap } from './topic-partitions.ts'

/** Where to begin when there is no position: what the group has committed, or one of the ends. */
export type Start = 'committed' | 'earliest' | 'latest'

/** A partition that is read, and where. */
export class PartitionState implements TopicPartition {
  readonly topic: string
  readonly partition: number
  /** Offset of the next record to hand out; null while it has to be found. */
  position: number | null = null
  /** Of the record before the position; -1 when unknown. */
  leaderEpoch = -1
  start: Start
  isPaused = false
  /** What is being handed out. */
  fetched: FetchedRecords | null = null
  /** What comes after it; null as long as it has not arrived. */
  ahead: FetchedRecords | null = null
  isFetching = false
  /** Grows when the position is set from outside: answers to older questions are dropped. */
  version = 0
  /** Nothing is asked before that time. */
  notBeforeMs = 0
  /** End of the partition as of the last answer; -1 when unknown. */
  highWatermark = -1

  constructor({ topic, partition }: TopicPartition, start: Start) {
    this.topic = topic
    this.partition = partition
    this.start = start
  }

  /** Where the next question begins; null when nothing may be asked. */
  get fetchOffset(): number | null {
    if (this.ahead !== null) return null
    return this.fetched === null ? this.position : this.fetched.endOffset
  }

  seek(position: number | null, start: Start = this.start): void {
    this.position = position
    this.leaderEpoch = -1
    this.start = start
    this.fetched = null
    this.ahead = null
    this.isFetching = false
    this.version++
  }
}

/** The partitions of a consumer. Kept in order of service: who was served goes to the end. */
export class Positions {
  readonly #states = new PartitionMap<PartitionState>()

  get all(): PartitionState[] {
    return this.#states.values()
  }

  get partitions(): TopicPartition[] {
    return this.#states.keys()
  }

  get(partition: TopicPartition): PartitionState | undefined {
    return this.#states.get(partition)
  }

  add(partitions: readonly TopicPartition[], start: Start): void {
    for (const partition of partitions) this.#states.set(partition, new PartitionState(partition, start))
  }

  remove(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) {
      // Answers that are still to come find that they are not wanted.
      this.#states.get(partition)?.seek(null)
      this.#states.delete(partition)
    }
  }

  toEnd(state: PartitionState): void {
    this.#states.delete(state)
    this.#states.set(state, state)
  }
}

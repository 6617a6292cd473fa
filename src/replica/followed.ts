import { MalformedError } from '../base/bytes.ts'
import type { PartitionFollower } from '../partition/follower.ts'
import type { FollowerEffect, FollowerInput } from '../partition/follower-types.ts'
import {
  BATCH_HEADER_BYTES,
  baseOffset,
  batchBytes,
  lastOffset,
  partitionLeaderEpoch,
} from '../protocol/batch/header.ts'
import type { FetchResponse } from '../protocol/apis/fetch.ts'
import { LogNotWritableError } from '../storage/errors.ts'
import type { FollowerDriver, Partition } from './partition.ts'

export type PartitionAnswer = FetchResponse['responses'][number]['partitions'][number]

/** What the fetcher of a leader does for one of its partitions. */
export interface FollowedHost {
  readonly nowMs: () => number
  /** The leader is told what is on disk here, and goes by that. */
  readonly countsDurable: boolean
  /** It has had its share of what throttled replicas may use. */
  isHeldBack(followed: Followed): boolean
  /** Its log has come further, or its machine has gone. */
  progressed(followed: Followed): void
  /** What is to be asked for it, or told about it, has changed by other means than an answer. */
  changed(followed: Followed): void
  /** Its machine wants to know where the leader's log begins and ends. */
  askOffsets(followed: Followed): void
  /** Committed records are given up, as only an unclean election allows. */
  lostCommitted(followed: Followed, from: number): void
  damaged(followed: Followed, reason: string): void
}

/** One partition that is fetched from one leader in one leader epoch. */
export class Followed implements FollowerDriver {
  readonly partition: Partition
  readonly machine: PartitionFollower
  /** Where the leader has been asked to go on; -1: it has not been asked. */
  askedOffset = -1
  /** The next fetch may wait until the log has this much on disk; -1: nothing is awaited. */
  awaitedOffset = -1
  /** The leader has committed more than this replica holds, as far as it has heard. */
  isBehind = true
  readonly #host: FollowedHost

  constructor(partition: Partition, machine: PartitionFollower, host: FollowedHost) {
    this.partition = partition
    this.machine = machine
    this.#host = host
    partition.followerDriver = this
  }

  /** Its machine is still the one of the partition; after that nothing may be done for it. */
  get isCurrent(): boolean {
    return this.partition.follower === this.machine
  }

  get isFetching(): boolean {
    return this.isCurrent && this.machine.state === 'fetching'
  }

  /** A leader that takes what is asked beyond for what is safe is asked only once it is. */
  get mayAsk(): boolean {
    if (!this.isFetching || this.#host.isHeldBack(this)) return false
    return this.#host.countsDurable || this.countedOffset >= (this.partition.log?.endOffset ?? 0)
  }

  /** What counts of this copy by the topic's mode, as far as this node can tell. */
  get countedOffset(): number {
    const { log, settings } = this.partition
    if (log === null) return 0
    return settings.log.durabilityMode === 'fsync' ? log.durableOffset : log.writtenOffset
  }

  logProgressed(): void {
    this.#host.progressed(this)
  }

  startAdvanced(): void {
    this.#host.changed(this)
  }

  take(answer: PartitionAnswer): void {
    const { log } = this.partition
    if (log === null) return
    const { errorCode, divergingEpoch } = answer
    const { epoch: leaderEpoch, endOffset } = divergingEpoch
    const diverges = leaderEpoch >= 0 || endOffset >= 0
    this.#step(
      {
        type: 'answered',
        errorCode,
        divergingEpoch: diverges ? { leaderEpoch, endOffset } : null,
        ownEpoch: diverges ? log.epochs.endOffsetFor(leaderEpoch, log.endOffset) : null,
        leaderStartOffset: answer.logStartOffset,
        log: this.partition.followerLog,
        nowMs: this.#host.nowMs(),
      },
      answer,
    )
  }

  /** What the leader holds, as it was asked; null: it did not say. */
  tellOffsets(leader: { readonly startOffset: number; readonly endOffset: number } | null): void {
    if (!this.isCurrent || this.machine.state !== 'asking') return
    this.#step({ type: 'offsets', leader, log: this.partition.followerLog, nowMs: this.#host.nowMs() })
  }

  tick(nowMs: number): void {
    if (this.isCurrent) this.#step({ type: 'tick', nowMs })
  }

  #step(input: FollowerInput, answer?: PartitionAnswer): void {
    const effect = this.partition.followed(this.machine, input)
    if (effect === null) return
    if (effect.type === 'append') {
      if (answer !== undefined) this.#append(answer)
    } else if (effect.type === 'ask-offsets') this.#host.askOffsets(this)
    else if (effect.type === 'truncate') void this.#rearrange(effect, undefined)
    else if (effect.type === 'restart') void this.#rearrange(effect, input.type === 'began-before' ? answer : undefined)
  }

  #append(answer: PartitionAnswer): void {
    try {
      for (const records of answer.records ?? []) {
        if (records.length === 0) continue
        const batches = usable(records, this.machine.leaderEpoch)
        if (this.#beginsWithin(batches)) return this.#beginAgain(Buffer.from(batches), answer)
        this.partition.appendAsFollower(batches)
      }
      this.#appended(answer)
    } catch (error) {
      this.#refused(error)
    }
  }

  #appended({ highWatermark, logStartOffset }: PartitionAnswer): void {
    this.isBehind = highWatermark > this.partition.followerLog.endOffset
    const positions = { leaderHighWatermark: highWatermark, leaderStartOffset: logStartOffset }
    this.#step({ type: 'appended', ...positions, log: this.partition.followerLog })
  }

  #refused(error: unknown): void {
    if (!(error instanceof MalformedError || error instanceof LogNotWritableError)) throw error
    if (error instanceof MalformedError) this.#host.damaged(this, error.message)
    this.#step({ type: 'refused', nowMs: this.#host.nowMs() })
  }

  /** DeleteRecords has moved the leader's start into a batch, which we are given whole. */
  #beginsWithin(batches: Buffer): boolean {
    const { startOffset, endOffset } = this.partition.followerLog
    return startOffset === endOffset && baseOffset(batches, 0) < endOffset && lastOffset(batches, 0) >= endOffset
  }

  #beginAgain(batches: Buffer, answer: PartitionAnswer): void {
    const offset = baseOffset(batches, 0)
    this.#step({ type: 'began-before', offset, log: this.partition.followerLog }, { ...answer, records: [batches] })
  }

  async #rearrange(
    effect: Extract<FollowerEffect, { type: 'truncate' | 'restart' }>,
    first: PartitionAnswer | undefined,
  ): Promise<void> {
    if (effect.committedFrom !== null) this.#host.lostCommitted(this, effect.committedFrom)
    const isDone = await this.partition.rearrange(effect)
    if (!this.isCurrent) return
    if (isDone) this.#step({ type: 'truncated', log: this.partition.followerLog })
    else this.#step({ type: 'refused', nowMs: this.#host.nowMs() })
    if (isDone && first !== undefined) this.#append(first)
    this.#host.changed(this)
  }
}

/**
 * Whole batches at the beginning of `records`: an Apache Kafka leader cuts the last one where the limit falls. None of a
 * later epoch than the one that is followed: its leader may have another history before it (KAFKA-18723). Throws
 * `MalformedError` when nothing is left, or it would be asked for again and again.
 */
function usable(records: Buffer, leaderEpoch: number): Buffer {
  let at = 0
  while (at + BATCH_HEADER_BYTES <= records.length) {
    const bytes = batchBytes(records, at)
    if (bytes < BATCH_HEADER_BYTES || at + bytes > records.length) break
    if (partitionLeaderEpoch(records, at) > leaderEpoch) break
    at += bytes
  }
  if (at === 0)
    throw new MalformedError(`${records.length} bytes without a whole batch of epoch ${leaderEpoch} or before`)
  return at === records.length ? records : records.subarray(0, at)
}

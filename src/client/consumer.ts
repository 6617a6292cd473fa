import type { TopicPartition } from '../model/ids.ts'
import type { Assignor } from './assignors/assignor.ts'
import { cooperativeStickyAssignor } from './assignors/cooperative-sticky.ts'
import { rangeAssignor } from './assignors/range.ts'
import { type Client, definedOnly, ignoreClientError, type Lane } from './client.ts'
import { checkChoice, checkInt32, checkNumber, checkPartition, mustBeTopicName } from './checks.ts'
import { ClosedError, NoOffsetError, RebalancedError, UsageError } from './errors.ts'
import { BrokerError, ClientError } from '../rpc/errors.ts'
import type { ConsumerRecord } from './fetched-records.ts'
import { Fetcher } from './fetcher.ts'
import { GroupCoordinatorLink } from './group-coordinator-link.ts'
import { GroupMembership, type Joined } from './group-membership.ts'
import { listOffsets } from './list-offsets.ts'
import {
  type CommittedOffset,
  type Committer,
  commitOffsets,
  fetchOffsets,
  NOBODY,
  type OffsetToCommit,
} from './offset-commits.ts'
import { type PartitionState, Positions } from './positions.ts'
import { difference, PartitionMap } from './topic-partitions.ts'

export interface ConsumerOptions {
  /** For `subscribe`, and to commit offsets. */
  readonly groupId?: string
  /** A name that survives restarts: the member comes back without a rebalance (KIP-345). */
  readonly groupInstanceId?: string
  /** Where to begin without a committed offset, and where to go on when the position is not in the log any more. */
  readonly autoOffsetReset?: 'latest' | 'earliest' | 'none'
  /** Commits what earlier polls returned, from time to time, at rebalances and at the end. */
  readonly autoCommit?: boolean
  readonly autoCommitIntervalMs?: number
  readonly sessionTimeoutMs?: number
  readonly heartbeatIntervalMs?: number
  readonly maxPollIntervalMs?: number
  readonly assignors?: readonly Assignor[]
  /** Hides records of transactions that are open or were aborted. */
  readonly readCommitted?: boolean
  readonly minBytes?: number
  readonly maxWaitMs?: number
  readonly maxBytes?: number
  readonly partitionBytes?: number
  /** Handed out by one poll, at most. */
  readonly maxPollRecords?: number
}

/** Called within `poll`, one at a time. While it runs the member keeps its partitions. */
export interface RebalanceListener {
  readonly onAssigned?: (partitions: readonly TopicPartition[]) => void | Promise<void>
  /** The last moment to commit what was done. */
  readonly onRevoked?: (partitions: readonly TopicPartition[]) => void | Promise<void>
  /** They are gone already, perhaps to others: nothing can be committed any more. */
  readonly onLost?: (partitions: readonly TopicPartition[]) => void | Promise<void>
}

const DEFAULTS = {
  autoOffsetReset: 'latest' as 'latest' | 'earliest' | 'none',
  autoCommit: true,
  autoCommitIntervalMs: 5000,
  sessionTimeoutMs: 45_000,
  heartbeatIntervalMs: 3000,
  maxPollIntervalMs: 300_000,
  assignors: [rangeAssignor, cooperativeStickyAssignor] as readonly Assignor[],
  readCommitted: false,
  minBytes: 1,
  maxWaitMs: 500,
  maxBytes: 50 * 1024 * 1024,
  partitionBytes: 1024 * 1024,
  maxPollRecords: 500,
}

/** How long `for await` waits within one poll; it goes on with the next anyway. */
const ITERATION_POLL_MS = 1000
/** Before topics that are not there are asked for again. */
const MISSING_TOPIC_PAUSE_MS = 5000

/**
 * Reads records. One reader at a time: `poll` returns what came, and everything that has to happen between two reads
 * (rebalances, commits, new positions) happens within the next `poll`. Whoever processes what one poll returned before
 * it polls again reads every record at least once.
 */
export class Consumer {
  readonly #client: Client
  readonly #options: Required<Omit<ConsumerOptions, 'groupId' | 'groupInstanceId'>>
  readonly #groupInstanceId: string | null
  readonly #positions = new Positions()
  readonly #fetcher: Fetcher
  readonly #link: GroupCoordinatorLink | null
  readonly #lanes: { readonly fetch: Lane; readonly group: Lane; readonly join: Lane }
  #membership: GroupMembership | null = null
  #topics: readonly string[] = []
  #listener: RebalanceListener = {}
  #partitionCounts: ReadonlyMap<string, number> | null = null
  #lastPollMs = 0
  #nextCommitMs = 0
  #nextTopicCheckMs = 0
  #finding: Promise<void> | null = null
  #failure: ClientError | null = null
  #wakeUp: (() => void) | null = null
  #isPolling = false
  #isClosed = false

  constructor(client: Client, options: ConsumerOptions = {}) {
    const { groupId, groupInstanceId, ...rest } = options
    this.#client = client
    this.#options = { ...DEFAULTS, ...definedOnly(rest) }
    checkOptions(this.#options)
    this.#groupInstanceId = groupInstanceId ?? null
    this.#lanes = { fetch: client.newLane('fetch'), group: client.newLane('group'), join: client.newLane('join') }
    this.#link = groupId === undefined ? null : new GroupCoordinatorLink(client, groupId, this.#lanes)
    this.#fetcher = new Fetcher(
      client,
      this.#positions,
      { ...this.#options, lane: this.#lanes.fetch },
      {
        arrived: () => this.#wake(),
        outOfRange: (state) => this.#onOutOfRange(state),
      },
    )
  }

  /** Becomes a member of the group and reads what it is assigned. May be called again with other topics. */
  subscribe(topics: readonly string[], listener: RebalanceListener = {}): void {
    this.#mustBeOpen()
    const link = this.#link
    if (link === null) throw new UsageError('subscribe without a groupId')
    if (this.#membership === null && this.#positions.all.length > 0) throw new UsageError('subscribe after assign')
    this.#topics = [...new Set(topics.map(mustBeTopicName))]
    this.#listener = listener
    this.#lastPollMs = this.#nowMs()
    if (this.#membership !== null) {
      this.#membership.askToRejoin()
      return
    }
    const options = { ...this.#options, groupInstanceId: this.#groupInstanceId }
    this.#membership = new GroupMembership(this.#client, link, options, {
      changed: () => this.#wake(),
      owned: () => this.#positions.partitions,
      // A poll that waits is the application waiting for us.
      lastPollMs: () => (this.#isPolling ? this.#nowMs() : this.#lastPollMs),
    })
  }

  /** Reads exactly these partitions, without membership. Replaces what was assigned before. */
  assign(partitions: readonly TopicPartition[]): void {
    this.#mustBeOpen()
    if (this.#membership !== null) throw new UsageError('assign after subscribe')
    for (const partition of partitions) checkPartition(partition)
    this.#positions.remove(difference(this.#positions.partitions, partitions))
    this.#positions.add(difference(partitions, this.#positions.partitions), this.#firstStart)
  }

  get assignment(): readonly TopicPartition[] {
    return this.#positions.partitions
  }

  /** Of this member, as the group knows it; empty before it has joined. */
  get memberId(): string {
    return this.#membership?.memberId ?? ''
  }

  get #firstStart() {
    if (this.#link !== null) return 'committed'
    return this.#options.autoOffsetReset === 'earliest' ? 'earliest' : 'latest'
  }

  /**
   * Records that came, as soon as there are any, at most `maxPollRecords`; none when `timeoutMs` passed without. Rejects
   * with a `ClientError`; polling again is allowed then.
   */
  async poll(timeoutMs: number): Promise<ConsumerRecord[]> {
    this.#mustBeOpen()
    checkNumber('timeoutMs', timeoutMs, 0)
    if (this.#isPolling) throw new UsageError('two polls at once: a consumer has one reader')
    this.#isPolling = true
    try {
      return await this.#poll(this.#nowMs() + timeoutMs)
    } finally {
      this.#isPolling = false
      this.#lastPollMs = this.#nowMs()
    }
  }

  async #poll(deadlineMs: number): Promise<ConsumerRecord[]> {
    for (;;) {
      this.#lastPollMs = this.#nowMs()
      this.#throwFailure()
      await this.#advanceMembership()
      this.#autoCommit()
      this.#findPositions()
      const records = this.#fetcher.take(this.#options.maxPollRecords)
      this.#fetcher.pump()
      if (records.length > 0) return records
      this.#throwFailure()
      if (this.#nowMs() >= deadlineMs) return []
      await this.#waitUntil(deadlineMs)
      this.#mustBeOpen()
    }
  }

  #throwFailure(): void {
    const failure = this.#failure ?? this.#fetcher.failure ?? this.#membership?.failure ?? null
    if (failure === null) return
    this.#failure = null
    this.#fetcher.failure = null
    if (this.#membership !== null) this.#membership.failure = null
    throw failure
  }

  #wake(): void {
    this.#wakeUp?.()
  }

  #waitUntil(deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#client.env.timers.after(Math.max(deadlineMs - this.#nowMs(), 0), () => this.#wake())
      this.#wakeUp = () => {
        this.#wakeUp = null
        timer.cancel()
        resolve()
      }
    })
  }

  /** Takes over an assignment that came, then begins the next rebalance if one is due. */
  async #advanceMembership(): Promise<void> {
    const membership = this.#membership
    if (membership === null) return
    const { joined } = membership
    if (joined !== null) {
      membership.joined = null
      await this.#takeOver(membership, joined)
    }
    this.#watchPartitionCounts(membership)
    if (!membership.isDue || membership.isJoining) return
    await this.#prepareToRejoin(membership)
    if (!this.#isClosed) membership.rejoin(this.#topics)
  }

  async #takeOver(membership: GroupMembership, { assignment, partitionCounts }: Joined): Promise<void> {
    this.#partitionCounts = partitionCounts
    const owned = this.#positions.partitions
    const revoked = difference(owned, assignment)
    if (revoked.length > 0) {
      await this.#revoke(revoked)
      // They go to others in a rebalance of their own, once nobody has them.
      membership.askToRejoin()
    }
    const added = difference(assignment, owned)
    this.#positions.add(added, 'committed')
    await this.#listener.onAssigned?.(added)
  }

  async #prepareToRejoin(membership: GroupMembership): Promise<void> {
    const owned = this.#positions.partitions
    if (owned.length === 0) return
    if (membership.isLost) {
      this.#positions.remove(owned)
      await (this.#listener.onLost ?? this.#listener.onRevoked)?.(owned)
    } else if (!membership.isCooperative) await this.#revoke(owned)
    else if (this.#options.autoCommit) await this.#commitQuietly()
  }

  async #revoke(partitions: readonly TopicPartition[]): Promise<void> {
    if (this.#options.autoCommit) await this.#commitQuietly()
    await this.#listener.onRevoked?.(partitions)
    this.#positions.remove(partitions)
  }

  /** A topic that grew, or came into being, is shared anew: the leader asks for that. */
  #watchPartitionCounts(membership: GroupMembership): void {
    const counts = this.#partitionCounts
    if (counts === null || membership.isDue) return
    for (const [topic, count] of counts) {
      const now = this.#client.knownTopic(topic)?.partitions.length
      if (now === undefined) this.#lookForTopic(topic)
      else if (now !== count) membership.askToRejoin()
    }
  }

  #lookForTopic(topic: string): void {
    if (this.#nowMs() < this.#nextTopicCheckMs) return
    this.#nextTopicCheckMs = this.#nowMs() + MISSING_TOPIC_PAUSE_MS
    this.#client.refresh([topic]).catch(ignoreClientError)
  }

  /** Finds positions for partitions that have none, on the side. */
  #findPositions(): void {
    const missing = this.#positions.all.filter(({ position }) => position === null)
    if (missing.length === 0 || this.#finding !== null) return
    this.#finding = this.#findFor(missing)
      .catch((error: unknown) => {
        if (!(error instanceof ClientError)) throw error
        this.#failure = error
      })
      .finally(() => {
        this.#finding = null
        this.#wake()
      })
  }

  async #findFor(states: readonly PartitionState[]): Promise<void> {
    const versions = new Map(states.map((state) => [state, state.version]))
    const isCurrent = (state: PartitionState) => state.version === versions.get(state)
    const asGroup = states.filter(({ start }) => start === 'committed')
    if (asGroup.length > 0 && this.#link !== null) {
      const { readCommitted: requireStable } = this.#options
      const committed = await fetchOffsets(this.#client, this.#link, asGroup, { requireStable })
      for (const state of asGroup.filter(isCurrent)) {
        const found = committed.get(state)
        if (found !== undefined) {
          state.position = found.offset
          state.leaderEpoch = found.leaderEpoch
        }
      }
    }
    const rest = states.filter((state) => isCurrent(state) && state.position === null)
    if (rest.length === 0) return
    const { autoOffsetReset, readCommitted } = this.#options
    const lost = rest.filter(({ start }) => start === 'committed')
    if (lost.length > 0 && autoOffsetReset === 'none') {
      throw new NoOffsetError(
        `no committed offset of ${lost.map(print).join(', ')}, and no autoOffsetReset`,
        lost.map(bare),
      )
    }
    const reset = autoOffsetReset === 'earliest' ? 'earliest' : 'latest'
    const wanted = rest.map(
      (state) => ({ ...bare(state), at: state.start === 'committed' ? reset : state.start }) as const,
    )
    const found = await listOffsets(this.#client, wanted, { readCommitted })
    for (const state of rest.filter(isCurrent)) state.position = found.get(state)?.offset ?? null
  }

  #onOutOfRange(state: PartitionState): void {
    const { autoOffsetReset } = this.#options
    const { position } = state
    if (autoOffsetReset === 'none') {
      this.#failure = new NoOffsetError(`offset ${position} is not in the log of ${print(state)}`, [bare(state)])
      state.isPaused = true
    } else {
      this.#client.env.log.warn('a position is not in the log any more', {
        topic: state.topic,
        partition: state.partition,
        position,
        reset: autoOffsetReset,
      })
      state.seek(null, autoOffsetReset)
    }
    this.#wake()
  }

  /** Offset of the next record that `poll` returns of the partition; null while it has to be found. */
  position(partition: TopicPartition): number | null {
    return this.#state(partition).position
  }

  /** Goes on at an offset, or at an end of the log. What was fetched ahead is dropped. */
  seek(partition: TopicPartition, to: number | 'earliest' | 'latest'): void {
    const state = this.#state(partition)
    if (typeof to === 'number') {
      if (!Number.isSafeInteger(to) || to < 0) throw new UsageError(`offset ${to}: a whole number from 0 on is wanted`)
      state.seek(to)
    } else {
      checkChoice('offset', to, ENDS)
      state.seek(null, to)
    }
    state.isPaused = false
  }

  pause(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#state(partition).isPaused = true
  }

  resume(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#state(partition).isPaused = false
    this.#fetcher.pump()
    this.#wake()
  }

  #state(partition: TopicPartition): PartitionState {
    const state = this.#positions.get(partition)
    if (state === undefined) throw new UsageError(`${print(partition)} is not assigned to this consumer`)
    return state
  }

  /**
   * Commits these offsets, or else all positions. Rejects with `RebalancedError` when the group has gone on without this
   * member: what it did since its last commit is done again by others.
   */
  async commit(offsets: readonly OffsetToCommit[] = this.#consumed()): Promise<void> {
    this.#mustBeOpen()
    await this.#commit(offsets)
  }

  async #commit(offsets: readonly OffsetToCommit[], timeoutMs?: number): Promise<void> {
    if (this.#link === null) throw new UsageError('commit without a groupId')
    try {
      await commitOffsets(this.#client, this.#link, offsets, { committer: this.#committer(), timeoutMs })
    } catch (error) {
      if (error instanceof RebalancedError && error.cause instanceof BrokerError) {
        this.#membership?.onCommitRefused(error.cause.errorCode)
      }
      throw error
    }
  }

  #committer(): Committer {
    if (this.#membership === null) return NOBODY
    const { memberId, generation } = this.#membership
    return { memberId, generation, groupInstanceId: this.#groupInstanceId }
  }

  #consumed(): OffsetToCommit[] {
    return this.#positions.all.flatMap(({ topic, partition, position, leaderEpoch }) =>
      position === null ? [] : [{ topic, partition, offset: position, leaderEpoch }],
    )
  }

  /** What the group has committed; null for partitions without. */
  async committed(partitions: readonly TopicPartition[]): Promise<PartitionMap<CommittedOffset | null>> {
    this.#mustBeOpen()
    if (this.#link === null) throw new UsageError('committed without a groupId')
    const found = await fetchOffsets(this.#client, this.#link, partitions, {
      requireStable: this.#options.readCommitted,
    })
    return new PartitionMap(partitions.map((partition) => [partition, found.get(partition) ?? null] as const))
  }

  /** Positions here are behind records that earlier polls returned, so the application is done with them. */
  #autoCommit(): void {
    if (!this.#options.autoCommit || this.#link === null || this.#nowMs() < this.#nextCommitMs) return
    this.#nextCommitMs = this.#nowMs() + this.#options.autoCommitIntervalMs
    if (this.#membership?.isJoining !== true) void this.#commitQuietly()
  }

  /** A commit that fails is made up for by the next one. */
  async #commitQuietly(): Promise<void> {
    if (this.#link === null) return
    try {
      await this.#commit(this.#consumed(), this.#options.sessionTimeoutMs)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      this.#client.env.log.warn('offsets could not be committed', { group: this.#link.groupId, error: error.message })
    }
  }

  /** Records one by one, for ever. Leaving the loop gives back what it was not given: the next read begins there. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ConsumerRecord, void> {
    while (!this.#isClosed) {
      const records = await this.poll(ITERATION_POLL_MS)
      let given = 0
      try {
        for (const record of records) {
          given++
          yield record
        }
      } finally {
        if (given < records.length) this.#giveBack(records.slice(given))
      }
    }
  }

  #giveBack(records: readonly ConsumerRecord[]): void {
    const firsts = new PartitionMap<number>()
    for (const record of records) if (!firsts.has(record)) firsts.set(record, record.offset)
    for (const [partition, offset] of firsts.entries()) this.#positions.get(partition)?.seek(offset)
  }

  /** Commits (with autoCommit), leaves the group and ends. A poll that waits is rejected with `ClosedError`. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    const isMember = this.#membership !== null && this.#membership.generation >= 0
    if (this.#options.autoCommit && (this.#membership === null || isMember)) await this.#commitQuietly()
    this.#isClosed = true
    this.#fetcher.close()
    this.#wake()
    await this.#membership?.close()
    for (const lane of Object.values(this.#lanes)) this.#client.closeLane(lane)
  }

  #mustBeOpen(): void {
    if (this.#isClosed || this.#client.isClosed) throw new ClosedError('the consumer is closed')
  }

  #nowMs(): number {
    return this.#client.env.clock.monotonicMs()
  }
}

function print({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}

function bare({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition }
}

const ENDS = ['earliest', 'latest']

function checkOptions(options: Required<Omit<ConsumerOptions, 'groupId' | 'groupInstanceId'>>): void {
  checkChoice('autoOffsetReset', options.autoOffsetReset, [...ENDS, 'none'])
  for (const name of ['sessionTimeoutMs', 'maxPollIntervalMs', 'maxBytes', 'partitionBytes'] as const)
    checkInt32(name, options[name], 1)
  for (const name of ['minBytes', 'maxWaitMs'] as const) checkInt32(name, options[name], 0)
  for (const name of ['heartbeatIntervalMs', 'maxPollRecords'] as const) checkNumber(name, options[name], 1)
  checkNumber('autoCommitIntervalMs', options.autoCommitIntervalMs, 0)
}

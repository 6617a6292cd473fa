import { assert } from '../base/assert.ts'
import { isOutOfSpace } from '../env/disk.ts'
import { sleep, type Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { isPlace } from '../raft/place.ts'
import { Raft } from '../raft/raft.ts'
import {
  type Destination,
  type Effect,
  type Endpoint,
  type InboundRequest,
  type InboundResponse,
  type Input,
  NOBODY,
  type OutboundResponse,
  type QuorumState,
  type RaftOptions,
  type ReplicaKey,
  type Ticket,
} from '../raft/types.ts'
import type { Peers } from '../rpc/peers.ts'
import { LogNotWritableError } from '../storage/errors.ts'
import { NoAnswerError, VoterInUseError } from './errors.ts'
import type { AppendedSet, MetadataLog } from './metadata-log.ts'
import { type Fact, PeerRequests } from './peer-requests.ts'
import { writeQuorumState } from './quorum-state.ts'
import type { LoadedSnapshot } from './snapshot-file.ts'

export interface RaftDriverListener {
  /** Every fact so far was told, every order performed: who leads, and what is committed, may be something else now. */
  settled(): void
  /** Of the log only what was committed is left. */
  truncated(): void
  /** It took the place of the log, and is committed. */
  snapshotInstalled(snapshot: LoadedSnapshot): void
  /** The node must stop. Once. */
  failed(error: Error): void
}

export interface RaftDriverOptions {
  readonly log: MetadataLog
  /** Where quorum-state lies. */
  readonly folder: string
  readonly peers: Peers
  /** What the machine is told beside what the driver itself knows. */
  readonly raft: Omit<RaftOptions, 'log' | 'durableOffset' | 'nowMs'>
  readonly listener: RaftDriverListener
}

/** An epoch that this node leads. Its controller may act when it has applied the record at `startOffset`. */
export interface Leading {
  readonly epoch: number
  readonly startOffset: number
}

type Performing = Promise<void> | null

/** Between two attempts to write where there was no room. */
const ROOM_RETRY_MS = 200
/** A stop waits so long for the others to have heard of it. */
const FAREWELL_MS = 500

/**
 * Tells the machine what happens, one fact at a time, and performs its orders on log, vote file and network: all of them,
 * in their order, before the next fact. What needs no disk is done in the same moment.
 *
 * Life cycle: `start`, then `stop`, after which nothing is told or performed any more.
 */
export class RaftDriver {
  readonly #env: Env
  readonly #options: RaftDriverOptions
  readonly #raft: Raft
  readonly #requests: PeerRequests
  readonly #facts: Fact[] = []
  /** What the last order came to: it is told before anything else. */
  #outcome: Fact | null = null
  #isFlushNoted = false
  #isWorking = false
  #isStopped = false
  #hasToldOfPlace = false
  #timer: Timer | null = null
  #timerMs = Number.POSITIVE_INFINITY
  #lastTicket = 0
  readonly #tickets = new Map<
    Ticket,
    { readonly resolve: (response: OutboundResponse) => void; readonly reject: (error: Error) => void }
  >()
  #waiters: (() => void)[] = []
  /** The vote file, as it is or is about to be, and the writing of it. */
  #state: QuorumState | null
  #writing: Promise<void> = Promise.resolve()
  #committedOffset: number
  #leading: Leading | null = null
  #leaderHighWatermark: number | null = null

  constructor(env: Env, options: RaftDriverOptions) {
    const { log, raft, peers } = options
    this.#env = env
    this.#options = options
    this.#state = raft.state
    this.#committedOffset = raft.highWatermark
    this.#raft = new Raft({
      ...raft,
      log,
      // What recovery accepted it has synced.
      durableOffset: log.endOffset,
      nowMs: env.clock.monotonicMs(),
    })
    this.#requests = new PeerRequests(env, peers, raft.requestTimeoutMs, (fact) => this.#tell(fact))
    log.partitionLog.listener = {
      progressed: () => this.#noteFlush(),
      failed: (_, error) => this.#fail(error),
    }
  }

  start(): void {
    this.#isWorking = true
    this.#work(() => this.#raft.start())
  }

  /** To be asked; only the driver steps it. */
  get raft(): Pick<
    Raft,
    'epoch' | 'leaderId' | 'leaderHeardMs' | 'leaderEndpoints' | 'voters' | 'kraftVersion' | 'facts' | 'dump'
  > {
    return this.#raft
  }

  /** All before it is committed. */
  get committedOffset(): number {
    return this.#committedOffset
  }

  get leading(): Leading | null {
    return this.#leading
  }

  /** The greatest that a leader told this node: how far the others are. */
  get leaderHighWatermark(): number | null {
    return this.#leaderHighWatermark
  }

  /** Whether something is under way that may change who leads: nothing may be appended meanwhile. */
  get isBusy(): boolean {
    return this.#isWorking
  }

  /** Resolves when something was settled. */
  nextSettled(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  /** The answer to a peer or an operator, which may take long. Rejects with `NoAnswerError`. */
  ask(request: InboundRequest, version: number, listener: string): Promise<OutboundResponse> {
    if (this.#isStopped) return Promise.reject(new NoAnswerError('this node is stopping'))
    const ticket = ++this.#lastTicket
    return new Promise((resolve, reject) => {
      this.#tickets.set(ticket, { resolve, reject })
      this.#tell({ type: 'request', ticket, version, listener, request })
    })
  }

  /**
   * Appends records of the active controller in the epoch that this node leads, and calls `onAppended` before anything else
   * happens: the next thing may be that this node finds that it leads no more. Throws `LogUnavailableError`.
   */
  appendSet(records: readonly MetadataRecord[], metadataVersion: number, onAppended: (set: AppendedSet) => void): void {
    assert(!this.#isWorking && this.#leading !== null, 'records for a metadata log that is not led')
    const { log } = this.#options
    onAppended(log.appendSet(records, metadataVersion, this.#leading.epoch))
    this.#tell({ type: 'appended', endOffset: log.endOffset, quorumRecords: [] })
  }

  /** A snapshot was written; the log may begin later now. */
  snapshotCreated(): void {
    const id = this.#options.log.latestSnapshot
    if (id !== null) this.#tell({ type: 'snapshot-created', id })
  }

  /** Gives up the epoch that this node leads. */
  resign(): void {
    if (this.#leading !== null) this.#tell({ type: 'resign', epoch: this.#leading.epoch })
  }

  #noteFlush(): void {
    if (this.#isFlushNoted) return
    this.#isFlushNoted = true
    this.#tell({ type: 'flushed', durableOffset: -1 })
  }

  #tell(fact: Fact): void {
    if (this.#isStopped) return
    this.#facts.push(fact)
    if (this.#isWorking) return
    this.#isWorking = true
    this.#work(() => null)
  }

  /** Performs `first`, then tells fact after fact. Comes back early where it has to wait, and goes on by itself. */
  #work(first: () => readonly Effect[] | null): void {
    try {
      let effects = first()
      for (;;) {
        const waiting = effects === null ? null : this.#perform(effects, 0)
        if (waiting !== null) {
          waiting.then(
            () => this.#work(() => null),
            (error: Error) => this.#fail(error),
          )
          return
        }
        const fact = this.#isStopped ? null : this.#nextFact()
        if (fact === null) break
        effects = this.#raft.step(fact)
      }
    } catch (error) {
      return this.#fail(error as Error)
    }
    this.#isWorking = false
    this.#settle()
  }

  #settle(): void {
    this.#scheduleTick()
    for (const wake of this.#waiters.splice(0)) wake()
    try {
      this.#options.listener.settled()
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #nextFact(): Input | null {
    const fact = this.#outcome ?? this.#facts.shift() ?? null
    this.#outcome = null
    if (fact === null) return null
    const nowMs = this.#env.clock.monotonicMs()
    if (fact.type === 'response') this.#noteHighWatermark(fact.response)
    if (fact.type !== 'flushed') return { ...fact, nowMs }
    // What was flushed when it was noted may have been cut off since.
    this.#isFlushNoted = false
    return { type: 'flushed', nowMs, durableOffset: this.#options.log.durableOffset }
  }

  #noteHighWatermark({ api, body }: InboundResponse): void {
    const partition = api === 'Fetch' ? body.responses[0]?.partitions[0] : undefined
    if (partition?.errorCode !== ErrorCode.NONE || partition.highWatermark < 0) return
    this.#leaderHighWatermark = Math.max(this.#leaderHighWatermark ?? 0, partition.highWatermark)
  }

  #perform(effects: readonly Effect[], from: number): Performing {
    for (let at = from; at < effects.length; at++) {
      if (isSuperseded(effects, at)) continue
      const waiting = this.#performOne(effects[at] as Effect)
      if (waiting !== null) return waiting.then(() => this.#perform(effects, at + 1) ?? undefined)
    }
    return null
  }

  #performOne(effect: Effect): Performing {
    switch (effect.type) {
      case 'persist':
        return this.#persist(effect.state)
      case 'send':
        if (isPlace(effect.to)) this.#tellOfPlace(effect.to)
        this.#requests.send(effect)
        return null
      case 'respond':
        this.#answer(effect.ticket, effect.response)
        return null
      case 'respond-with-records':
        this.#answerWithRecords(effect)
        return null
      case 'respond-with-snapshot':
        this.#answerWithSnapshot(effect)
        return null
      case 'append':
        return this.#append(effect)
      case 'append-fetched': {
        const { log } = this.#options
        const quorumRecords = log.appendFetched(effect.records, effect.epoch) ?? []
        this.#outcome = { type: 'appended', endOffset: log.endOffset, quorumRecords }
        return null
      }
      case 'truncate':
        return this.#truncate(effect.offset)
      case 'write-snapshot':
        return this.#writeSnapshot(effect)
      case 'displaced':
        this.#fail(displaced(this.#options.raft.self, effect.by))
        return null
      case 'commit':
        this.#committedOffset = effect.offset
        return null
      case 'leader-changed': {
        const { epoch, epochStartOffset: startOffset } = effect
        this.#leading = startOffset === null ? null : { epoch, startOffset }
        return null
      }
    }
  }

  /**
   * Epoch and vote are promises, and durable before anything tells of them. Who leads is no promise: whoever was elected has
   * a majority, which no other can get in that epoch; so nothing waits for that to be written.
   */
  #persist(state: QuorumState): Performing {
    const isPromise = isAnotherPromise(this.#state, state)
    this.#state = state
    const { disk } = this.#env
    const write = () => writeQuorumState(disk, this.#options.folder, state)
    this.#writing = this.#writing.then(() => this.#whenThereIsRoom(write))
    if (isPromise) return this.#writing
    this.#writing.catch((error: Error) => this.#fail(error))
    return null
  }

  /** A promise must be kept, so a full disk makes this node wait, and the others go on without it. */
  async #whenThereIsRoom(action: () => void | Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await action()
      } catch (error) {
        const mayCome = isOutOfSpace(error) || (error instanceof LogNotWritableError && this.isFull)
        if (!mayCome || this.#isStopped) throw error
        await sleep(this.#env.timers, ROOM_RETRY_MS)
      }
    }
  }

  /** There is no room for what the leader sends: it is not taken, or not committed here. */
  get isFull(): boolean {
    return this.#options.log.partitionLog.refusal?.kind === 'out-of-space'
  }

  #append(effect: Extract<Effect, { type: 'append' }>): Performing {
    const { log } = this.#options
    const append = () => {
      const quorumRecords = log.appendQuorumRecords(effect.records, effect.epoch)
      this.#outcome = { type: 'appended', endOffset: log.endOffset, quorumRecords }
    }
    if (this.isFull) return this.#whenThereIsRoom(append)
    append()
    return null
  }

  async #truncate(offset: number): Promise<void> {
    this.#options.listener.truncated()
    await this.#whenThereIsRoom(() => this.#options.log.truncateTo(offset))
    this.#outcome = { type: 'truncated' }
  }

  async #writeSnapshot({ id, position, chunk, isLast }: Extract<Effect, { type: 'write-snapshot' }>): Promise<void> {
    const { log, listener } = this.#options
    const { snapshots } = log
    let snapshot: LoadedSnapshot | null = null
    try {
      await snapshots.take(id, position, chunk)
      if (!isLast) return
      snapshot = await snapshots.install(id)
    } catch (error) {
      if (!isOutOfSpace(error)) throw error
      this.#env.log.warn('A metadata snapshot could not be taken over', { offset: id.offset, reason: String(error) })
      await snapshots.abandon()
      if (!isLast) return
    }
    if (snapshot === null) {
      this.#outcome = { type: 'snapshot-refused', id }
      return
    }
    listener.truncated()
    await this.#whenThereIsRoom(() => log.restartAt(id.offset))
    await snapshots.removeOld()
    this.#env.log.info('Took over a metadata snapshot', { ...id, bytes: snapshot.bytes })
    listener.snapshotInstalled(snapshot)
    const { kraftVersion, voters } = snapshot.voterSet ?? { kraftVersion: 0, voters: null }
    this.#outcome = { type: 'snapshot-installed', id, kraftVersion, voters }
  }

  #answer(ticket: Ticket, response: OutboundResponse): void {
    this.#tickets.get(ticket)?.resolve(response)
    this.#tickets.delete(ticket)
  }

  #leaveUnanswered(ticket: Ticket, reason: string): void {
    this.#tickets.get(ticket)?.reject(new NoAnswerError(reason))
    this.#tickets.delete(ticket)
  }

  #answerWithRecords(effect: Extract<Effect, { type: 'respond-with-records' }>): void {
    const { ticket, response, fromOffset, limitOffset, maxBytes } = effect
    const { log } = this.#options
    const { truncations } = log
    const respond = (buffers: readonly Buffer[]) => {
      const [topic] = response.responses
      const [partition] = topic?.partitions ?? []
      assert(topic !== undefined && partition !== undefined, 'an answer about no partition')
      const responses = [{ ...topic, partitions: [{ ...partition, records: buffers }] }]
      this.#answer(ticket, { api: 'Fetch', body: { ...response, responses } })
    }
    const read = log.partitionLog.read(fromOffset, { maxBytes, limitOffset, atLeastOneBatch: true })
    if (!(read instanceof Promise)) return respond(read.buffers)
    read.then(
      ({ buffers }) => {
        // What was read may be of another leader by now.
        if (log.truncations === truncations) respond(buffers)
        else this.#leaveUnanswered(ticket, 'the log was truncated')
      },
      (error: Error) => this.#leaveUnanswered(ticket, error.message),
    )
  }

  #answerWithSnapshot(effect: Extract<Effect, { type: 'respond-with-snapshot' }>): void {
    const { ticket, response, id, position, maxBytes } = effect
    const [topic] = response.topics
    const [partition] = topic?.partitions ?? []
    assert(topic !== undefined && partition !== undefined, 'an answer about no partition')
    this.#options.log.snapshots.read(id, position, maxBytes).then(
      (chunk) => {
        const topics = [{ ...topic, partitions: [{ ...partition, unalignedRecords: [chunk] }] }]
        this.#answer(ticket, { api: 'FetchSnapshot', body: { ...response, topics } })
      },
      // A newer one has taken its place.
      (error: Error) => this.#leaveUnanswered(ticket, error.message),
    )
  }

  #scheduleTick(): void {
    const dueMs = this.#isStopped ? Number.POSITIVE_INFINITY : this.#raft.nextDeadlineMs
    // An early tick does no harm; so the timer stays where it is when the deadline moves away.
    if (dueMs >= this.#timerMs) return
    this.#timer?.cancel()
    this.#timerMs = dueMs
    this.#timer = this.#env.timers.after(Math.max(0, Math.ceil(dueMs - this.#env.clock.monotonicMs())), () => {
      this.#timer = null
      this.#timerMs = Number.POSITIVE_INFINITY
      this.#tell({ type: 'tick' })
    })
  }

  /** Once in a process's life: without it nobody knew why a cluster that was moved as a whole stands still. */
  #tellOfPlace({ host, port }: Destination): void {
    if (this.#hasToldOfPlace) return
    this.#hasToldOfPlace = true
    const own = this.#options.raft.endpoints.map((endpoint) => `${endpoint.host}:${endpoint.port}`).join(', ')
    this.#env.log.warn(
      'This controller is known under another address, and takes part once the leader knows this one',
      {
        known: `${host}:${port}`,
        own,
        hint:
          'a majority of the controllers has to be where the quorum knows them; when more than half have moved for good, and nothing ' +
          'uses what they were copied from, start each of them once with controller.quorum.moved=true',
      },
    )
  }

  #fail(error: Error): void {
    if (this.#isStopped) return
    this.#end()
    this.#options.listener.failed(error)
  }

  #end(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#leading = null
    for (const ticket of [...this.#tickets.keys()]) this.#leaveUnanswered(ticket, 'this node is stopping')
    for (const wake of this.#waiters.splice(0)) wake()
  }

  /** Hands over what this node leads, and waits a little for the others to know it, and for the disk. */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#tell({ type: 'shut-down' })
    let isLate = false
    const timer = this.#env.timers.after(FAREWELL_MS, () => {
      isLate = true
      for (const wake of this.#waiters.splice(0)) wake()
    })
    while (!this.#isStopped && !isLate && (this.#isWorking || !this.#raft.canStop)) await this.nextSettled()
    timer.cancel()
    this.#options.log.partitionLog.listener = null
    this.#end()
    // What nobody waited for so far: files are closed next.
    await this.#writing.catch(() => {})
  }
}

function isAnotherPromise(before: QuorumState | null, state: QuorumState): boolean {
  const { leaderEpoch, votedId, votedDirectoryId } = before ?? { leaderEpoch: 0, votedId: NOBODY, votedDirectoryId: '' }
  if (state.leaderEpoch !== leaderEpoch || state.votedId !== votedId) return true
  return state.votedId !== NOBODY && state.votedDirectoryId !== votedDirectoryId
}

/** A state of the vote file that the next one replaces before anything is told of it: one write does for both. */
function isSuperseded(effects: readonly Effect[], at: number): boolean {
  if (effects[at]?.type !== 'persist') return false
  const next = effects.slice(at + 1).find(({ type }) => type !== 'leader-changed')
  return next?.type === 'persist'
}

function displaced({ id, directoryId }: ReplicaKey, { host, port }: Endpoint): VoterInUseError {
  return new VoterInUseError(
    `Another process is controller ${id} of directory ${directoryId}, and reached at ${host}:${port} as the quorum knows it: ` +
      'is this folder a copy? Never run two copies of a folder; give this node a number and an empty folder of its own (--join).',
  )
}

import { assert } from '../../base/assert.ts'
import { Random } from '../../base/random.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import { Invariants } from './invariants.ts'
import {
  type ChaosNode,
  directoryOf,
  drawFaults,
  endpointOf,
  type Faults,
  TIMEOUTS,
  versionOf,
  voterOf,
} from './nodes.ts'
import { ModelLog, type ModelEntry, SNAPSHOT_BYTES } from './model-log.ts'
import type { Mutations } from '../mutations.ts'
import { Raft } from '../raft.ts'
import type {
  Destination,
  Effect,
  InboundRequest,
  InboundResponse,
  Input,
  OutboundRequest,
  OutboundResponse,
  PlacedRecord,
  ReplicaKey,
} from '../types.ts'

interface Message {
  readonly from: number
  readonly to: number
  readonly fromIncarnation: number
  readonly toIncarnation: number
  readonly correlationId: number
  readonly payload:
    | { readonly type: 'request'; readonly request: InboundRequest | OutboundRequest }
    | { readonly type: 'response'; readonly response: InboundResponse }
}

/** A healed cluster that does more than this is busy with itself. */
const SETTLE_STEPS_MAX = 50_000
/** Ids of requests that come from no node. */
const CLIENT = -100

/**
 * A random world for several machines: a bag of messages, disks, one clock, and everything that goes wrong with them. Every
 * choice comes from one seed. First `happen` as often as one likes, then `heal`, then `settle`; the invariants are checked
 * with every effect.
 */
export class Chaos {
  readonly random: Random
  readonly invariants = new Invariants()
  readonly nodes: ChaosNode[] = []
  readonly #mutations: Mutations
  readonly #bag: Message[] = []
  readonly #records = new Map<number, readonly ModelEntry[]>()
  readonly #tickets = new Map<number, { readonly node: ChaosNode; readonly message: Message }>()
  #faults: Faults
  #cut = new Set<number>()
  #nextTicket = 1
  #nextValue = 1
  #isWiped = false
  /** Records, or bytes of a snapshot, in one answer: with few, followers are seldom level. */
  readonly #fetchMax: number
  nowMs = 0
  steps = 0
  /** Sees everything that is sent between nodes. */
  onRequest: (request: OutboundRequest) => void = () => {}
  onResponse: (response: OutboundResponse) => void = () => {}
  /** Answers to changes of voters, for those who ask. */
  readonly answers: OutboundResponse[] = []

  constructor(
    seed: number,
    options: { readonly voters: number; readonly nodes: number; readonly mutations?: Mutations },
  ) {
    this.random = new Random(seed)
    this.#mutations = options.mutations ?? {}
    this.#fetchMax = this.random.pick([1, 2, 10])
    this.#faults = drawFaults(this.random, options)
    const keys = Array.from({ length: options.nodes }, (_, index) => ({
      id: index + 1,
      directoryId: directoryOf(index + 1),
    }))
    const voters = keys.slice(0, options.voters).map(voterOf)
    for (const key of keys) {
      const log = new ModelLog()
      if (key.id <= options.voters) log.snapshots = [{ id: { offset: 0, epoch: 0 }, kraftVersion: 1, voters }]
      const node = {
        key,
        state: null,
        log,
        raft: null,
        incarnation: 0,
        highWatermark: 0,
        leadsEpoch: null,
        isStopping: false,
        port: endpointOf(key.id).port,
      }
      this.nodes.push(node)
    }
    for (const node of this.nodes) this.start(node)
  }

  start(node: ChaosNode): void {
    assert(node.raft === null, 'started twice')
    node.incarnation += 1
    node.highWatermark = node.log.latestSnapshot?.offset ?? 0
    node.leadsEpoch = null
    node.isStopping = false
    if (this.#faults.voterChanges > 0 && this.random.chance(0.1)) node.port += 1
    node.raft = new Raft({
      ...TIMEOUTS,
      clusterId: 'cluster',
      self: node.key,
      endpoints: [{ ...endpointOf(node.key.id), port: node.port }],
      kraftVersions: { minSupportedVersion: 0, maxSupportedVersion: 1 },
      listener: 'CONTROLLER',
      bootstrap: this.nodes.map(({ key }) => ({ host: `node${key.id}`, port: 9093 })),
      canVote: true,
      strangerId: directoryOf(node.key.id, -node.incarnation),
      fetchBytesMax: this.#fetchMax,
      snapshotBytesMax: this.#fetchMax,
      log: node.log,
      durableOffset: node.log.endOffset,
      highWatermark: node.highWatermark,
      staticVoters: [],
      quorumRecords: node.log.quorumRecords(),
      state: node.state,
      random: this.random.fork(),
      nowMs: this.nowMs,
      mutations: this.#mutations,
    })
    this.#perform(node, node.raft.start())
  }

  crash(node: ChaosNode): void {
    node.raft = null
    node.leadsEpoch = null
    node.log.crash(this.random)
  }

  /** The disk is replaced by an empty one. */
  wipe(node: ChaosNode): void {
    assert(node.raft === null, 'wiped while it runs')
    node.key = { id: node.key.id, directoryId: directoryOf(node.key.id, node.incarnation) }
    node.state = null
    node.log = new ModelLog()
  }

  node(id: number): ChaosNode {
    return this.nodes[id - 1] as ChaosNode
  }

  input(node: ChaosNode, input: Input): void {
    if (node.raft === null) return
    this.#perform(node, node.raft.step(input))
  }

  #perform(node: ChaosNode, effects: readonly Effect[]): void {
    this.steps += 1
    const { raft } = node
    let followUp: Input | null = null
    for (const effect of effects) {
      if (this.#faults.crashesInside > 0 && this.random.chance(this.#faults.crashesInside)) return this.crash(node)
      followUp = this.#performOne(node, effect) ?? followUp
    }
    if (followUp === null || raft === null || node.raft !== raft) return
    this.input(node, followUp)
    if (node.raft === raft) this.invariants.votersInForce(node.log, raft.facts.voters)
  }

  /** The input that reports it, if any. */
  #performOne(node: ChaosNode, effect: Effect): Input | null {
    const { nowMs } = this
    const { log } = node
    switch (effect.type) {
      case 'persist':
        this.invariants.persisting(node.state, effect.state)
        node.state = effect.state
        return null
      case 'send':
        this.invariants.telling(node, effect.request)
        this.onRequest(effect.request)
        this.#send(node, effect.to, effect.correlationId, effect.request)
        return null
      case 'respond':
        this.#answer(node, effect.ticket, effect.response)
        return null
      case 'respond-with-records': {
        const to = Math.min(effect.limitOffset, effect.fromOffset + effect.maxBytes)
        const entries = log.slice(effect.fromOffset, to)
        const [topic] = effect.response.responses
        const [partition] = topic?.partitions ?? []
        assert(topic !== undefined && partition !== undefined, 'no partition in the answer')
        const records = entries.length === 0 ? [] : [this.#bufferOf(entries)]
        const responses = [{ ...topic, partitions: [{ ...partition, records }] }]
        this.#answer(node, effect.ticket, { api: 'Fetch', body: { ...effect.response, responses } })
        return null
      }
      case 'respond-with-snapshot': {
        const [topic] = effect.response.topics
        const [partition] = topic?.partitions ?? []
        assert(topic !== undefined && partition !== undefined, 'no partition in the answer')
        const snapshot = log.snapshot(effect.id)
        assert(snapshot !== null, 'a snapshot that is not there')
        const length = Math.min(effect.maxBytes, SNAPSHOT_BYTES - effect.position)
        const chunk = Buffer.alloc(length, JSON.stringify(effect.id))
        this.invariants.offering(snapshot)
        const topics = [{ ...topic, partitions: [{ ...partition, unalignedRecords: [chunk] }] }]
        this.#answer(node, effect.ticket, { api: 'FetchSnapshot', body: { ...effect.response, topics } })
        return null
      }
      case 'append': {
        assert(effect.baseOffset === log.endOffset, 'append elsewhere')
        return this.#append(
          node,
          effect.records.map((value) => ({ epoch: effect.epoch, value })),
        )
      }
      case 'append-fetched': {
        assert(effect.baseOffset === log.endOffset, 'append elsewhere')
        const entries = effect.records.flatMap((buffer) => this.#records.get(buffer.readUInt32BE(0)) ?? [])
        assert(
          entries.every(({ epoch }) => epoch <= effect.epoch),
          'records of a later epoch than the leader',
        )
        // Damaged on the way: CRCs tell.
        if (this.#faults.loss > 0 && this.random.chance(0.02)) return this.#append(node, [])
        return this.#append(node, entries)
      }
      case 'truncate':
        this.invariants.truncating(log, effect.offset)
        log.truncateTo(effect.offset)
        return { type: 'truncated', nowMs }
      case 'write-snapshot': {
        if (!effect.isLast) return null
        if (this.#faults.loss > 0 && this.random.chance(0.1)) return { type: 'snapshot-refused', nowMs, id: effect.id }
        const snapshot = this.invariants.installing(effect.id)
        log.restartWith(snapshot)
        return { type: 'snapshot-installed', nowMs, ...snapshot }
      }
      case 'commit':
        this.invariants.committing(node, effect.offset)
        node.highWatermark = effect.offset
        return null
      case 'displaced':
        throw new Error(`${node.key.id} takes itself for a copy`)
      case 'leader-changed':
        node.leadsEpoch = effect.epochStartOffset === null ? null : effect.epoch
        if (effect.epochStartOffset !== null) this.invariants.leading(node, effect.epoch)
        return null
    }
  }

  #append(node: ChaosNode, entries: readonly ModelEntry[]): Input {
    const quorumRecords: PlacedRecord[] = []
    for (const entry of entries) {
      this.invariants.appending(node.log, entry)
      const offset = node.log.append(entry)
      if (typeof entry.value !== 'number') quorumRecords.push({ offset, record: entry.value })
    }
    return { type: 'appended', nowMs: this.nowMs, endOffset: node.log.endOffset, quorumRecords }
  }

  #bufferOf(entries: readonly ModelEntry[]): Buffer {
    const handle = this.#records.size + 1
    this.#records.set(handle, entries)
    const buffer = Buffer.alloc(4)
    buffer.writeUInt32BE(handle)
    return buffer
  }

  #send(node: ChaosNode, { host }: Destination, correlationId: number, request: OutboundRequest): void {
    const to = Number(host.slice('node'.length))
    this.#post({
      from: node.key.id,
      to,
      fromIncarnation: node.incarnation,
      toIncarnation: -1,
      correlationId,
      payload: { type: 'request', request },
    })
  }

  #answer(node: ChaosNode, ticket: number, response: OutboundResponse): void {
    const asked = this.#tickets.get(ticket)
    assert(asked !== undefined && asked.node === node, 'answered twice, or by another node')
    this.#tickets.delete(ticket)
    const { message } = asked
    assert(message.payload.type === 'request', 'a ticket for no request')
    this.invariants.answering(node, message.payload.request, response)
    this.onResponse(response)
    if (message.from === CLIENT) {
      this.answers.push(response)
      return
    }
    assert(response.api !== 'AddRaftVoter' && response.api !== 'RemoveRaftVoter', 'an answer to a client')
    this.#post({
      from: message.to,
      to: message.from,
      fromIncarnation: node.incarnation,
      toIncarnation: message.fromIncarnation,
      correlationId: message.correlationId,
      payload: { type: 'response', response },
    })
  }

  #post(message: Message): void {
    if (this.#faults.loss > 0 && this.random.chance(this.#faults.loss)) return
    this.#bag.push(message)
    if (this.#faults.duplication > 0 && this.random.chance(this.#faults.duplication)) this.#bag.push(message)
  }

  #isCut(message: Message): boolean {
    return this.#cut.has(message.from) !== this.#cut.has(message.to)
  }

  #deliver(message: Message): void {
    const node = this.nodes[message.to - 1]
    if (node === undefined) return
    const { nowMs } = this
    if (node.raft === null || this.#isCut(message)) {
      const sender = this.nodes[message.from - 1]
      const isRefused = message.payload.type === 'request' && !this.#isCut(message)
      // Refused at once, as by a host that is up, or nothing for ever.
      if (isRefused && sender?.incarnation === message.fromIncarnation && this.random.chance(0.7)) {
        const isRefused = this.random.chance(0.5)
        this.input(sender, { type: 'request-failed', nowMs, correlationId: message.correlationId, isRefused })
      }
      return
    }
    const { payload, correlationId } = message
    if (payload.type === 'response') {
      // A connection dies with its process.
      if (message.toIncarnation !== node.incarnation) return
      return this.input(node, { type: 'response', nowMs, correlationId, response: payload.response })
    }
    const { request } = payload
    if (request.api === 'ApiVersions') return this.#answerApiVersions(message)
    const ticket = this.#nextTicket++
    this.#tickets.set(ticket, { node, message })
    this.input(node, { type: 'request', nowMs, ticket, version: versionOf(request), request })
  }

  #answerApiVersions(message: Message): void {
    const body = {
      errorCode: ErrorCode.NONE,
      apiKeys: [],
      throttleTimeMs: 0,
      supportedFeatures: [{ name: 'kraft.version', minVersion: 0, maxVersion: 1 }],
      finalizedFeaturesEpoch: -1,
      finalizedFeatures: [],
      zkMigrationReady: false,
    }
    this.#post({
      ...message,
      from: message.to,
      to: message.from,
      toIncarnation: message.fromIncarnation,
      payload: { type: 'response', response: { api: 'ApiVersions', body } },
    })
  }

  /** One thing happens. */
  happen(): void {
    const { random } = this
    const faults = this.#faults
    const node = random.pick(this.nodes)
    if (random.chance(faults.crashes)) return this.#crashOrStart(node)
    if (random.chance(faults.partitions)) return this.#cutOrHeal()
    if (random.chance(faults.snapshots)) return this.takeSnapshot(node)
    if (random.chance(faults.voterChanges)) return this.#changeVoters(this.#someLeader() ?? node)
    if (random.chance(faults.farewells)) return this.#sayFarewell(this.#someLeader() ?? node)
    const dice = random.float()
    if (dice < 0.08) return this.produce(this.#someLeader() ?? node)
    const unflushed = this.#someoneToFlush()
    if (dice < 0.3 && unflushed !== undefined) return this.#flush(unflushed)
    if (dice > 1 - faults.haste) return this.#pass()
    if (this.#bag.length === 0) return this.#pass()
    // The clock runs slowly while messages wait, or every one of them would come too late.
    if (dice < 0.4) this.nowMs += random.below(5)
    const [message] = this.#bag.splice(random.below(this.#bag.length), 1)
    if (message !== undefined) this.#deliver(message)
  }

  #someoneToFlush(): ChaosNode | undefined {
    const behind = this.nodes.filter(({ log, raft }) => raft !== null && log.durableOffset < log.endOffset)
    return behind.length === 0 ? undefined : this.random.pick(behind)
  }

  #someLeader(): ChaosNode | undefined {
    const leaders = this.nodes.filter(({ leadsEpoch }) => leadsEpoch !== null)
    return leaders.length === 0 ? undefined : this.random.pick(leaders)
  }

  /** A client's record, at whoever believes to lead. */
  produce(node: ChaosNode): void {
    if (node.raft === null || node.leadsEpoch === null) return
    this.input(node, this.#append(node, [{ epoch: node.leadsEpoch, value: this.#nextValue++ }]))
  }

  #flush(node: ChaosNode): void {
    if (node.raft === null) return
    const { log } = node
    const from = log.durableOffset
    log.flush(this.#faults.slowFlush ? this.random.between(from, log.endOffset) : log.endOffset)
    if (log.durableOffset > from)
      this.input(node, { type: 'flushed', nowMs: this.nowMs, durableOffset: log.durableOffset })
  }

  #crashOrStart(node: ChaosNode): void {
    if (node.raft !== null) return this.crash(node)
    if (this.#faults.wipes && !this.#isWiped && this.random.chance(0.3)) {
      this.#isWiped = true
      this.wipe(node)
    }
    this.start(node)
  }

  #sayFarewell(node: ChaosNode): void {
    const epoch = node.leadsEpoch
    if (epoch !== null && this.random.chance(0.5)) return this.input(node, { type: 'resign', nowMs: this.nowMs, epoch })
    node.isStopping = true
    this.input(node, { type: 'shut-down', nowMs: this.nowMs })
  }

  #cutOrHeal(): void {
    const leader = this.#someLeader()
    if (this.#cut.size > 0) this.#cut.clear()
    else if (leader !== undefined && this.random.chance(0.5)) this.#cut.add(leader.key.id)
    else for (const { key } of this.nodes) if (this.random.chance(0.4)) this.#cut.add(key.id)
  }

  takeSnapshot(node: ChaosNode): void {
    const { log, raft, highWatermark } = node
    if (raft === null || highWatermark <= (log.latestSnapshot?.offset ?? 0) || highWatermark > log.durableOffset) return
    const snapshot = log.snapshotAt(highWatermark)
    if (this.random.chance(0.5)) log.startWith(snapshot)
    else log.snapshots = log.startOffset === 0 ? [snapshot] : [...log.snapshots, snapshot]
    this.input(node, { type: 'snapshot-created', nowMs: this.nowMs, id: snapshot.id })
  }

  #changeVoters(leader: ChaosNode): void {
    if (leader.raft === null || leader.leadsEpoch === null) return
    const { key } = this.random.pick(this.nodes)
    const isVoter = leader.raft.facts.voters.has(key)
    this.askToChange(leader, isVoter ? 'remove' : 'add', key)
  }

  askToChange(leader: ChaosNode, what: 'add' | 'remove', key: ReplicaKey): void {
    const named = { clusterId: 'cluster', voterId: key.id, voterDirectoryId: key.directoryId }
    const add = {
      ...named,
      timeoutMs: 10_000,
      listeners: [{ ...endpointOf(key.id), port: this.node(key.id).port }],
      ackWhenCommitted: this.random.chance(0.5),
    }
    const request: InboundRequest =
      what === 'add' ? { api: 'AddRaftVoter', body: add } : { api: 'RemoveRaftVoter', body: named }
    const message: Message = {
      from: CLIENT,
      to: leader.key.id,
      fromIncarnation: 0,
      toIncarnation: 0,
      correlationId: 0,
      payload: { type: 'request', request },
    }
    this.#deliver(message)
  }

  /** Time passes to the next thing that is due, or beyond it: timers are late at times. */
  #pass(): void {
    const next = this.#nextDeadlineMs()
    if (Number.isFinite(next)) this.nowMs = Math.max(this.nowMs, next)
    if (this.random.chance(0.1)) this.nowMs += this.random.below(300)
    for (const node of this.nodes) {
      if (node.raft !== null && node.raft.nextDeadlineMs <= this.nowMs) {
        this.input(node, { type: 'tick', nowMs: this.nowMs })
      }
    }
  }

  #nextDeadlineMs(): number {
    return Math.min(...this.nodes.map(({ raft }) => raft?.nextDeadlineMs ?? Number.POSITIVE_INFINITY))
  }

  /** No more faults. Everything runs, every message comes. */
  heal(): void {
    const none = { farewells: 0, loss: 0, duplication: 0, crashes: 0, crashesInside: 0, partitions: 0 }
    this.#faults = { ...this.#faults, ...none, slowFlush: false, snapshots: 0, voterChanges: 0, wipes: false, haste: 0 }
    this.#cut.clear()
    for (const node of this.nodes) if (node.isStopping && node.raft !== null) this.crash(node)
    for (const node of this.nodes) if (node.raft === null) this.start(node)
  }

  /** Runs without faults until `isDone`; false when it is not within `limitMs` of virtual time. */
  settle(isDone: () => boolean, limitMs = 60_000): boolean {
    const untilMs = this.nowMs + limitMs
    const stepsMax = this.steps + SETTLE_STEPS_MAX
    while (this.nowMs < untilMs && this.steps < stepsMax) {
      if (isDone()) return true
      for (const node of this.nodes) this.#flush(node)
      const message = this.#bag.shift()
      if (message !== undefined) this.#deliver(message)
      else this.#passToNext(untilMs)
    }
    return isDone()
  }

  #passToNext(untilMs: number): void {
    const next = this.#nextDeadlineMs()
    this.nowMs = Math.min(untilMs, Math.max(next, this.nowMs))
    for (const node of this.nodes) this.input(node, { type: 'tick', nowMs: this.nowMs })
  }

  /** Who leads the highest epoch, when everyone agrees on it. */
  agreedLeader(): ChaosNode | null {
    const epochs = this.nodes.map(({ raft }) => raft?.facts.epoch ?? -1)
    const leaders = this.nodes.filter(({ leadsEpoch }) => leadsEpoch === Math.max(...epochs))
    return leaders.length === 1 ? (leaders[0] ?? null) : null
  }

  /** The voter set says of each voter where it listens now. */
  endpointsAreCurrent(leader: ChaosNode): boolean {
    const voters = leader.raft?.facts.voters.voters ?? []
    return voters.every(({ voterId, voterDirectoryId, endpoints }) => {
      const { key, port } = this.node(voterId)
      return key.directoryId !== voterDirectoryId || endpoints[0]?.port === port
    })
  }

  dump(): string {
    return this.nodes.map(({ key, raft }) => `${key.id} ${raft?.dump() ?? 'down'}`).join('\n')
  }
}

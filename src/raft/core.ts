import { assert } from '../base/assert.ts'
import { Connections } from './connections.ts'
import { LeaderState, voterRef } from './leader-state.ts'
import type { Mutations } from './mutations.ts'
import { listedElsewhere } from './place.ts'
import { type LeaderInfo, type Role, Tally, type Unattached } from './roles.ts'
import {
  type Destination,
  type Effect,
  type Endpoint,
  type LogPosition,
  NO_DIRECTORY,
  NOBODY,
  type OutboundRequest,
  type OutboundResponse,
  type QuorumRecord,
  type QuorumState,
  type RaftLog,
  type RaftOptions,
  type ReplicaKey,
  type Ticket,
  type Voter,
} from './types.ts'
import { VoterHistory } from './voter-history.ts'
import { sameVoter, type VoterSet } from './voter-set.ts'

/** What a follower's log is waiting for before it fetches again. */
export type LogWork = 'append' | 'truncation' | 'snapshot'

/**
 * The state of one node of the quorum, and the ways from one role to the next. What requests, answers and time do with it
 * is in the files beside this one; `raft.ts` holds the switch.
 *
 * Invariants: the epoch never falls; at most one vote in an epoch; both, and the leader, are handed out to be persisted
 * before anything that tells of them; the high watermark never falls.
 */
export class Core {
  readonly options: RaftOptions
  readonly mutations: Mutations
  readonly self: ReplicaKey
  readonly log: RaftLog
  readonly history: VoterHistory
  readonly connections: Connections
  nowMs: number
  epoch = 0
  voted: ReplicaKey | null = null
  role: Role = { type: 'unattached', leaderId: null, deadlineMs: Number.POSITIVE_INFINITY }
  highWatermark: number
  durableOffset: number
  logWork: LogWork | null = null
  /** While fetched records are being appended: where they begin, and the high watermark that came with them. */
  fetched = { baseOffset: 0, highWatermark: -1 }
  isShuttingDown = false
  /** When anyone may be asked next who leads. */
  askAgainMs = Number.NEGATIVE_INFINITY
  /** When a leader whose address refuses us is taken for dead next. */
  goneAgainMs = Number.NEGATIVE_INFINITY
  /** The listed place of this voter, which is not where it says that it is reached, has turned out to be here all the same. */
  isReached = false
  /** When that place may be asked again, since when another process has been there, and whether that was told. */
  probeAgainMs = Number.NEGATIVE_INFINITY
  occupiedSinceMs: number | null = null
  isDisplaced = false
  /** When a leader of this epoch or one before was heard last, or this node was it. */
  leaderHeardMs: number
  /** Counts changes of role. */
  transitions = 0
  #effects: Effect[] = []
  #persisted: QuorumState | null
  #told = ''

  constructor(options: RaftOptions) {
    this.options = options
    this.mutations = options.mutations ?? {}
    this.self = options.self
    this.log = options.log
    this.nowMs = options.nowMs
    this.leaderHeardMs = options.nowMs
    this.highWatermark = options.highWatermark
    this.durableOffset = options.durableOffset
    this.#persisted = options.state
    this.connections = new Connections(options.requestTimeoutMs, options.retryBackoffMs)
    this.history = new VoterHistory(options.staticVoters, this.mutations.directoryIgnored)
    for (const placed of options.quorumRecords) this.history.add(placed)
  }

  get voters(): VoterSet {
    return this.history.voters
  }

  /** Takes part in elections. */
  get isVoter(): boolean {
    return this.options.canVote && this.elsewhere === null && this.history.mayVote(this.self, this.highWatermark)
  }

  /** Where the voter that this process takes itself for is listed, if that is not here: see `place.ts`. */
  get elsewhere(): Endpoint | null {
    return listedElsewhere(this)
  }

  /** Under which it fetches. */
  get fetchKey(): ReplicaKey {
    return this.elsewhere === null ? this.self : { id: this.self.id, directoryId: this.options.strangerId }
  }

  /** Where the log ends. */
  get end(): LogPosition {
    return { offset: this.log.endOffset, epoch: this.log.lastEpoch }
  }

  get leaderId(): number | null {
    switch (this.role.type) {
      case 'leader':
      case 'resigned':
        return this.self.id
      case 'follower':
        return this.role.leader.id
      case 'prospective':
        return this.role.leader?.id ?? null
      case 'unattached':
        return this.role.leaderId
      case 'candidate':
        return null
    }
  }

  get leaderEndpoints(): readonly Endpoint[] {
    switch (this.role.type) {
      case 'leader':
      case 'resigned':
        return this.options.endpoints
      case 'follower':
        return this.role.leader.endpoints
      case 'prospective':
        return this.role.leader?.endpoints ?? []
      default:
        return []
    }
  }

  /** This node as a voter. */
  get selfAsVoter(): Voter {
    const { endpoints, kraftVersions } = this.options
    return {
      voterId: this.self.id,
      voterDirectoryId: this.self.directoryId,
      endpoints,
      kRaftVersionFeature: kraftVersions,
    }
  }

  effect(effect: Effect): void {
    this.#effects.push(effect)
  }

  takeEffects(): readonly Effect[] {
    const effects = this.#effects
    this.#effects = []
    return effects
  }

  respond(ticket: Ticket, response: OutboundResponse): void {
    this.effect({ type: 'respond', ticket, response })
  }

  /** The correlation id; null when a request is on its way there, or it is backing off. */
  send(to: Destination, request: OutboundRequest): number | null {
    if (!this.connections.isReady(to.nodeId)) return null
    const preVote = request.api === 'Vote' && request.body.topics[0]?.partitions[0]?.preVote === true
    const fetchOffset = request.api === 'Fetch' ? this.log.endOffset : -1
    const correlationId = this.connections.begin({ to, api: request.api, preVote, fetchOffset }, this.nowMs)
    this.effect({ type: 'send', correlationId, to, request })
    return correlationId
  }

  /** Null when its endpoint on the controllers' listener is not known. */
  destinationOf(nodeId: number, endpoints: readonly Endpoint[] = this.voters.endpointsOf(nodeId)): Destination | null {
    const endpoint = endpoints.find(({ name }) => name === this.options.listener)
    return endpoint === undefined ? null : { nodeId, host: endpoint.host, port: endpoint.port }
  }

  randomElectionTimeoutMs(): number {
    const { electionTimeoutMs, random } = this.options
    return electionTimeoutMs + random.below(electionTimeoutMs)
  }

  /**
   * The role after a start. Unlike in Kafka, a candidate does not go on in its epoch: what it had not flushed is gone, and
   * those who voted for its longer log would still count.
   */
  start(): void {
    const { state } = this.options
    const epoch = Math.max(state?.leaderEpoch ?? 0, this.log.lastEpoch)
    const known = state !== null && state.leaderEpoch === epoch ? state : null
    this.epoch = epoch
    const hasVoted = known !== null && known.votedId !== NOBODY && this.mutations.voteForgottenAtStart !== true
    this.voted = hasVoted ? { id: known.votedId, directoryId: known.votedDirectoryId } : null
    const leaderId = known === null || known.leaderId === NOBODY ? null : known.leaderId
    if (this.mutations.epochResumed === true && this.voted?.id === this.self.id) return this.#stand()
    if (leaderId === this.self.id && this.elsewhere !== null) this.#enter(epoch, this.#unattached(null))
    else if (leaderId === this.self.id) this.#enter(epoch, this.#resigned([]))
    else if (leaderId !== null) this.#followOrRemember(epoch, leaderId)
    else this.#enter(epoch, this.#unattached(null))
    // Nobody has to be asked, or waited for: a single node serves at once.
    if (this.voters.size === 1 && this.voters.has(this.self) && this.options.canVote) this.#standInNewEpoch()
  }

  #followOrRemember(epoch: number, leaderId: number): void {
    const endpoints = this.voters.endpointsOf(leaderId)
    if (endpoints.length === 0) this.#enter(epoch, this.#unattached(leaderId))
    else this.#enter(epoch, this.#follower({ id: leaderId, endpoints }))
  }

  /** A higher epoch, or nobody won the pre-vote in this one. */
  becomeUnattached(epoch: number, leaderId: number | null): void {
    const { role } = this
    assert(
      epoch > this.epoch || (epoch === this.epoch && (role.type === 'prospective' || role.type === 'unattached')),
      `${role.type} of epoch ${this.epoch} becomes unattached in ${epoch}`,
    )
    const next = this.#unattached(leaderId)
    // A stranger with ever higher epochs must not keep this node from standing itself.
    if (epoch > this.epoch && this.isVoter && (role.type === 'unattached' || role.type === 'candidate')) {
      next.deadlineMs = Math.min(next.deadlineMs, role.deadlineMs)
    }
    this.#enter(epoch, next)
  }

  /** It was listed elsewhere, and turned out to be there: it takes part. */
  reached(): void {
    this.isReached = true
    // It may have led this epoch before it was started anew, and nobody is to be told any more that it does.
    if (this.role.type === 'unattached') this.becomeUnattached(this.epoch + 1, null)
  }

  #unattached(leaderId: number | null): Unattached {
    const deadlineMs = this.isVoter ? this.nowMs + this.randomElectionTimeoutMs() : Number.POSITIVE_INFINITY
    return { type: 'unattached', leaderId, deadlineMs }
  }

  /** The vote of this epoch is given, and never again. */
  voteFor(candidate: ReplicaKey): void {
    assert(this.voted === null && candidate.id !== this.self.id, `a second vote in epoch ${this.epoch}`)
    const { role } = this
    assert(role.type === 'unattached' || role.type === 'prospective', `a vote as ${role.type}`)
    this.voted = candidate
    if (this.mutations.voteNotSynced !== true) this.#persist()
    if (role.type === 'unattached') role.deadlineMs = this.nowMs + this.randomElectionTimeoutMs()
  }

  becomeFollower(epoch: number, leader: LeaderInfo): void {
    assert(leader.id !== this.self.id && leader.endpoints.length > 0, `follower of ${leader.id}`)
    assert(
      epoch > this.epoch || (this.role.type !== 'leader' && this.role.type !== 'resigned'),
      `${this.role.type} follows ${leader.id} in the same epoch ${epoch}`,
    )
    this.#enter(epoch, this.#follower(leader))
  }

  #follower(leader: LeaderInfo): Role {
    const { fetchTimeoutMs } = this.options
    return {
      type: 'follower',
      leader,
      fetchDeadlineMs: this.nowMs + fetchTimeoutMs,
      hasFetched: false,
      snapshot: null,
      updateVoterMs: this.nowMs + (this.elsewhere === null ? fetchTimeoutMs * 3 : 0),
    }
  }

  /** Asks for votes that bind nobody (KIP-996). */
  becomeProspective(): void {
    assert(this.isVoter && this.role.type !== 'leader' && this.role.type !== 'resigned', `${this.role.type} stands`)
    const { leaderId } = this
    const leader = leaderId === null ? null : { id: leaderId, endpoints: this.leaderEndpoints }
    const tally = new Tally(this.voters, this.self.id)
    this.#enter(this.epoch, {
      type: 'prospective',
      leader,
      tally,
      deadlineMs: this.nowMs + this.randomElectionTimeoutMs(),
    })
    if (tally.isWon) this.becomeCandidate()
  }

  /** The pre-vote was lost, or took too long: back to the leader, if one was followed. */
  giveUpPreVote(): void {
    assert(this.role.type === 'prospective', `${this.role.type} gives up a pre-vote`)
    const { leader } = this.role
    if (leader !== null && leader.endpoints.length > 0) this.becomeFollower(this.epoch, leader)
    else this.becomeUnattached(this.epoch, leader?.id ?? null)
  }

  becomeCandidate(): void {
    assert(this.isVoter && this.role.type === 'prospective', `${this.role.type} becomes candidate`)
    this.#standInNewEpoch()
  }

  #standInNewEpoch(): void {
    this.voted = this.self
    this.epoch += 1
    this.#stand()
  }

  #stand(): void {
    const tally = new Tally(this.voters, this.self.id)
    this.#enter(this.epoch, { type: 'candidate', tally, deadlineMs: this.nowMs + this.randomElectionTimeoutMs() })
    if (tally.isWon) this.becomeLeader(tally.granting)
  }

  /** The epoch's first batch says who leads it; nothing older is committed before a majority has that. */
  becomeLeader(granting: readonly number[]): void {
    assert(this.role.type === 'candidate', `${this.role.type} becomes leader`)
    const { voters, self, nowMs } = this
    const epochStartOffset = this.log.endOffset
    const { fetchTimeoutMs } = this.options
    const state = new LeaderState({ self, epochStartOffset, voters, fetchTimeoutMs, nowMs })
    this.#enter(this.epoch, { type: 'leader', state })
    this.append(this.#firstRecords(granting))
  }

  #firstRecords(granting: readonly number[]): readonly QuorumRecord[] {
    const { voters, history } = this
    const value = {
      leaderId: this.self.id,
      voters: voters.voters.map(voterRef),
      grantingVoters: voters.voters.filter(({ voterId }) => granting.includes(voterId)).map(voterRef),
    }
    const records: QuorumRecord[] = [{ type: 'LeaderChange', value }]
    if (history.kraftVersion === 0) return records
    const listed = voters.byId(this.self.id)
    // The snapshot that a cluster begins with is not replicated: what it says about voters goes into the log once.
    const isUnwritten = history.votersOffset === -1
    if (isUnwritten || (listed !== null && !sameVoter(listed, this.selfAsVoter))) {
      records.push({ type: 'KRaftVersion', value: { kRaftVersion: history.kraftVersion } })
      records.push({ type: 'KRaftVoters', value: { voters: voters.updated(this.selfAsVoter).voters } })
    }
    return records
  }

  /** Appends a control batch as the leader. What it says about voters is in force at once. Returns its first offset. */
  append(records: readonly QuorumRecord[]): number {
    assert(this.role.type === 'leader' && this.logWork === null, `${this.role.type} appends`)
    const baseOffset = this.log.endOffset
    this.logWork = 'append'
    this.effect({ type: 'append', epoch: this.epoch, baseOffset, records })
    for (const [index, record] of records.entries()) this.history.add({ offset: baseOffset + index, record })
    this.role.state.setVoters(this.voters, this.nowMs)
    return baseOffset
  }

  becomeResigned(): void {
    assert(this.role.type === 'leader', `${this.role.type} resigns`)
    this.#enter(this.epoch, this.#resigned(this.role.state.successors))
  }

  #resigned(successors: readonly ReplicaKey[]): Role {
    const unacknowledged = new Set(this.voters.ids.filter((id) => id !== this.self.id))
    return { type: 'resigned', unacknowledged, successors, deadlineMs: this.nowMs + this.randomElectionTimeoutMs() }
  }

  /** Called with the state of a leader that has just ceased to be one, to answer those who wait for it. */
  onLeadershipLost: (state: LeaderState) => void = () => {}

  #enter(epoch: number, role: Role): void {
    const before = this.role
    if (epoch > this.epoch) this.voted = null
    this.epoch = epoch
    this.role = role
    this.transitions += 1
    // Answers to what was asked in another role would be misunderstood.
    this.connections.reset()
    this.#persist()
    if (before.type === 'leader') this.onLeadershipLost(before.state)
    this.#tellLeader()
  }

  #persist(): void {
    const state: QuorumState = {
      leaderId: this.leaderId ?? NOBODY,
      leaderEpoch: this.epoch,
      votedId: this.voted?.id ?? NOBODY,
      votedDirectoryId: this.voted?.directoryId ?? NO_DIRECTORY,
    }
    const last = this.#persisted
    if (
      last?.leaderEpoch === state.leaderEpoch &&
      last.leaderId === state.leaderId &&
      last.votedId === state.votedId &&
      last.votedDirectoryId === state.votedDirectoryId
    ) {
      return
    }
    assert(last === null || state.leaderEpoch >= last.leaderEpoch, `epoch falls to ${state.leaderEpoch}`)
    this.#persisted = state
    this.effect({ type: 'persist', state })
  }

  #tellLeader(): void {
    const { epoch, leaderId, role } = this
    const epochStartOffset = role.type === 'leader' ? role.state.epochStartOffset : null
    const told = `${epoch} ${leaderId} ${epochStartOffset}`
    if (told === this.#told) return
    this.#told = told
    this.effect({ type: 'leader-changed', epoch, leaderId, epochStartOffset })
  }

  /**
   * A fetch tells the leader what is held, and it counts that as a vote for the commit: so a voter, or who may be added as
   * one any moment, first flushes.
   */
  get isReadyToFetch(): boolean {
    if (this.logWork !== null) return false
    const mustFlush = this.options.canVote && this.mutations.followerAcknowledgesUnflushed !== true
    return !mustFlush || this.durableOffset >= this.log.endOffset
  }

  /** What came with a fetch is in the log; or, when the end did not move, it was damaged: not again at once. */
  onFetchAppended(endOffset: number, baseOffset: number): void {
    if (endOffset > baseOffset || this.role.type !== 'follower') return
    this.connections.backOff(this.role.leader.id, this.nowMs)
  }

  /** Everything before `offset` is committed. */
  raiseHighWatermark(offset: number): void {
    if (offset <= this.highWatermark) return
    this.highWatermark = offset
    this.effect({ type: 'commit', offset })
  }
}

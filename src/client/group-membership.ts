import { assert } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'
import { sleep, type Timer } from '../env/clock.ts'
import type { TopicPartition } from '../model/ids.ts'
import { Heartbeat } from '../protocol/apis/heartbeat.ts'
import { JoinGroup, type JoinGroupResponse } from '../protocol/apis/join-group.ts'
import { LeaveGroup } from '../protocol/apis/leave-group.ts'
import { SyncGroup } from '../protocol/apis/sync-group.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { decodeMessage, encodeMessage } from '../protocol/message-codec.ts'
import { ConsumerProtocolAssignment, ConsumerProtocolSubscription } from '../protocol/messages/consumer-protocol.ts'
import type { Assignor, GroupMember } from './assignors/assignor.ts'
import type { Client } from './client.ts'
import { BrokerError, ClientError, ProtocolError } from '../rpc/errors.ts'
import type { GroupCoordinatorLink } from './group-coordinator-link.ts'
import { byTopic } from './topic-partitions.ts'

export interface MembershipOptions {
  readonly groupInstanceId: string | null
  readonly sessionTimeoutMs: number
  readonly heartbeatIntervalMs: number
  /** How long the application may take between two polls, and so how long a rebalance waits for it. */
  readonly maxPollIntervalMs: number
  readonly assignors: readonly Assignor[]
}

export interface MembershipEvents {
  /** A rebalance is due, or has brought an assignment, or has failed. */
  changed(): void
  /** What the member owns now. */
  owned(): readonly TopicPartition[]
  /** Since when the application has not polled. */
  lastPollMs(): number
}

/** What a rebalance has brought this member. */
export interface Joined {
  readonly assignment: readonly TopicPartition[]
  /** The leader watches the number of partitions, and asks for a rebalance when it changes. */
  readonly partitionCounts: ReadonlyMap<string, number> | null
}

const PROTOCOL_TYPE = 'consumer'
const SUBSCRIPTION_VERSION = 3
const ASSIGNMENT_VERSION = 3
const JOIN_MARGIN_MS = 5000
const NO_GENERATION = -1

/**
 * A member of a classic group: joins, takes its assignment, and keeps alive by heartbeats. It only ever says that a
 * rebalance is due (`isDue`); the consumer begins it (`rejoin`) when the application has done with what it had.
 */
export class GroupMembership {
  readonly #client: Client
  readonly #link: GroupCoordinatorLink
  readonly #options: MembershipOptions
  readonly #events: MembershipEvents
  memberId = ''
  generation = NO_GENERATION
  /** The member has to join, for the first time or again. */
  isDue = true
  /** The group went on without this member: what it owned may belong to others already. */
  isLost = false
  /** An assignment that the consumer has not taken over yet. */
  joined: Joined | null = null
  failure: ClientError | null = null
  #isJoining = false
  #heartbeat: Timer | null = null
  #isClosed = false

  constructor(client: Client, link: GroupCoordinatorLink, options: MembershipOptions, events: MembershipEvents) {
    this.#client = client
    this.#link = link
    this.#options = options
    this.#events = events
  }

  get isJoining(): boolean {
    return this.#isJoining
  }

  /** All must be able to go step by step, since nobody knows which will be chosen. */
  get isCooperative(): boolean {
    return this.#options.assignors.every(({ isCooperative }) => isCooperative)
  }

  /** Begins to join. `joined` or `failure` is set at the end, and `changed` called. */
  rejoin(topics: readonly string[]): void {
    assert(!this.#isJoining, 'two joins at once')
    this.#isJoining = true
    this.isDue = false
    this.isLost = false
    this.joined = null
    this.#join(topics)
      .then(
        (joined) => {
          this.joined = joined
          this.#scheduleHeartbeat()
        },
        (error: unknown) => {
          if (!(error instanceof ClientError)) throw error
          this.isDue = true
          this.failure = error
        },
      )
      .finally(() => {
        this.#isJoining = false
        this.#events.changed()
      })
  }

  async #join(topics: readonly string[]): Promise<Joined> {
    const backoff = this.#client.backoff()
    for (;;) {
      try {
        return await this.#tryJoin(topics)
      } catch (error) {
        if (!(error instanceof ClientError) || this.#isClosed || !this.#mayRetry(error)) throw error
        if (!isRebalance(error)) await sleep(this.#client.env.timers, backoff.nextMs())
      }
    }
  }

  /** Adjusts what the error says about this member. False when trying again is no use. */
  #mayRetry(error: ClientError): boolean {
    const code = error instanceof BrokerError ? error.errorCode : null
    if (code === ErrorCode.UNKNOWN_MEMBER_ID) this.#reset('')
    else if (code === ErrorCode.ILLEGAL_GENERATION) this.#reset(this.memberId)
    else if (code !== ErrorCode.MEMBER_ID_REQUIRED && code !== ErrorCode.REBALANCE_IN_PROGRESS) {
      this.#link.forget(error)
      return error.retriable
    }
    return true
  }

  #reset(memberId: string): void {
    this.memberId = memberId
    this.generation = NO_GENERATION
  }

  async #tryJoin(topics: readonly string[]): Promise<Joined> {
    const { sessionTimeoutMs, maxPollIntervalMs, assignors, groupInstanceId } = this.#options
    this.#heartbeat?.cancel()
    const response = await this.#link.request(
      JoinGroup,
      (version) => ({
        groupId: this.#link.groupId,
        sessionTimeoutMs,
        rebalanceTimeoutMs: maxPollIntervalMs,
        memberId: this.memberId,
        ...(version >= 5 ? { groupInstanceId } : {}),
        protocolType: PROTOCOL_TYPE,
        protocols: assignors.map((assignor) => ({
          name: assignor.name,
          metadata: this.#subscription(topics, assignor),
        })),
      }),
      { lane: 'join', timeoutMs: maxPollIntervalMs + JOIN_MARGIN_MS },
    )
    if (response.errorCode === ErrorCode.MEMBER_ID_REQUIRED) this.memberId = response.memberId
    this.#check(response.errorCode, 'join')
    this.memberId = response.memberId
    this.generation = response.generationId
    const isLeader = response.leader === response.memberId
    const plan = isLeader && !response.skipAssignment ? await this.#assign(response) : null
    const synced = await this.#link.request(
      SyncGroup,
      (version) => ({
        groupId: this.#link.groupId,
        generationId: response.generationId,
        memberId: response.memberId,
        ...(version >= 3 ? { groupInstanceId } : {}),
        protocolType: PROTOCOL_TYPE,
        protocolName: response.protocolName,
        assignments: plan?.assignments ?? [],
      }),
      { lane: 'join', timeoutMs: maxPollIntervalMs + JOIN_MARGIN_MS },
    )
    this.#check(synced.errorCode, 'sync')
    return { assignment: decodeAssignment(synced.assignment), partitionCounts: plan?.partitionCounts ?? null }
  }

  #check(errorCode: number, what: string): void {
    if (errorCode !== ErrorCode.NONE) throw new BrokerError(errorCode, `${what} of group ${this.#link.groupId}`)
  }

  #subscription(topics: readonly string[], assignor: Assignor): Buffer {
    const ownedPartitions = byTopic(this.#events.owned()).map(([topic, owned]) => ({
      topic,
      partitions: owned.map(({ partition }) => partition),
    }))
    const userData = assignor.userData(this.generation)
    const { generation: generationId } = this
    const value = { topics, userData, ownedPartitions, generationId }
    return encodeMessage(ConsumerProtocolSubscription, SUBSCRIPTION_VERSION, value)
  }

  async #assign(response: JoinGroupResponse): Promise<{
    assignments: { memberId: string; assignment: Buffer }[]
    partitionCounts: Map<string, number>
  }> {
    const assignor = this.#options.assignors.find(({ name }) => name === response.protocolName)
    if (assignor === undefined) {
      throw new ProtocolError(`the group chose ${response.protocolName}, which this member did not offer`)
    }
    const members = response.members.map(decodeMember)
    const topics = new Set(members.flatMap((member) => member.topics))
    await this.#client.refresh(topics)
    const partitionCounts = new Map(
      [...topics].map((topic) => [topic, this.#client.view.topics.get(topic)?.partitions.length ?? 0]),
    )
    const plan = assignor.assign(members, partitionCounts)
    const assignments = [...plan].map(([memberId, partitions]) => ({
      memberId,
      assignment: encodeAssignment(partitions),
    }))
    return { assignments, partitionCounts }
  }

  #scheduleHeartbeat(): void {
    this.#heartbeat?.cancel()
    if (this.#isClosed || this.#client.isClosed) return
    this.#heartbeat = this.#client.env.timers.after(this.#options.heartbeatIntervalMs, () => void this.#beat())
  }

  async #beat(): Promise<void> {
    if (this.#isClosed || this.generation === NO_GENERATION || this.#isJoining) return
    if (this.#client.env.clock.monotonicMs() - this.#events.lastPollMs() > this.#options.maxPollIntervalMs) {
      // The application is stuck. Others take over its work; it hears of that when it polls again.
      await this.leave('the application has not polled for too long')
      this.#lose()
      return
    }
    const { generation, memberId } = this
    const { groupInstanceId } = this.#options
    try {
      const { errorCode } = await this.#link.request(
        Heartbeat,
        (version) => ({
          groupId: this.#link.groupId,
          generationId: generation,
          memberId,
          ...(version >= 3 ? { groupInstanceId } : {}),
        }),
        { lane: 'group', timeoutMs: this.#options.sessionTimeoutMs },
      )
      if (this.generation === generation && this.memberId === memberId) this.#onHeartbeat(errorCode)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      this.#link.forget(error)
    }
    this.#scheduleHeartbeat()
  }

  #onHeartbeat(errorCode: number): void {
    switch (errorCode) {
      case ErrorCode.NONE:
        return
      case ErrorCode.REBALANCE_IN_PROGRESS:
        this.askToRejoin()
        return
      case ErrorCode.UNKNOWN_MEMBER_ID:
        this.#reset('')
        this.#lose()
        return
      case ErrorCode.ILLEGAL_GENERATION:
        this.#reset(this.memberId)
        this.#lose()
        return
      case ErrorCode.FENCED_INSTANCE_ID:
        this.failure = new BrokerError(errorCode, `member of group ${this.#link.groupId}`)
        this.#reset('')
        this.#lose()
        return
      default:
        this.#link.forget(new BrokerError(errorCode, 'heartbeat'))
    }
  }

  #lose(): void {
    this.isLost = true
    this.askToRejoin()
  }

  askToRejoin(): void {
    if (this.isDue) return
    this.isDue = true
    this.#events.changed()
  }

  /** A commit was refused because the group has gone on. */
  onCommitRefused(errorCode: number): void {
    if (errorCode === ErrorCode.REBALANCE_IN_PROGRESS) this.askToRejoin()
    else this.#onHeartbeat(errorCode)
  }

  /** Tells the group, if it can be told, that it need not wait. Static members stay: they will be back. */
  async leave(reason: string): Promise<void> {
    this.#heartbeat?.cancel()
    const { memberId } = this
    this.#reset('')
    if (memberId === '' || this.#options.groupInstanceId !== null) return
    try {
      await this.#link.request(
        LeaveGroup,
        (version) => ({
          groupId: this.#link.groupId,
          ...(version >= 3 ? { members: [{ memberId, ...(version >= 5 ? { reason } : {}) }] } : { memberId }),
        }),
        { lane: 'group' },
      )
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.leave('the consumer is being closed')
  }
}

function isRebalance(error: ClientError): boolean {
  return (
    error instanceof BrokerError &&
    [ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS].some((code) => code === error.errorCode)
  )
}

type JoinedMember = JoinGroupResponse['members'][number]

/** One whose metadata cannot be read is given nothing; it must not keep the others from their work. */
function decodeMember(member: JoinedMember): GroupMember {
  try {
    return decodeSubscription(member)
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    const { memberId, groupInstanceId } = member
    return { memberId, groupInstanceId, topics: [], owned: [], generation: NO_GENERATION }
  }
}

function decodeSubscription({ memberId, groupInstanceId, metadata }: JoinedMember): GroupMember {
  const { value } = decodeMessage(ConsumerProtocolSubscription, metadata)
  const owned = value.ownedPartitions.flatMap(({ topic, partitions }) =>
    partitions.map((partition) => ({ topic, partition })),
  )
  // Before KIP-792 the generation came in the assignor's own data.
  const inUserData =
    value.userData !== null && value.userData.length >= 4 ? value.userData.readInt32BE(0) : NO_GENERATION
  const generation = value.generationId >= 0 ? value.generationId : inUserData
  return { memberId, groupInstanceId, topics: value.topics, owned, generation }
}

function decodeAssignment(bytes: Buffer): TopicPartition[] {
  if (bytes.length === 0) return []
  try {
    const { value } = decodeMessage(ConsumerProtocolAssignment, bytes)
    return value.assignedPartitions.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ topic, partition })),
    )
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    throw new ProtocolError(`an assignment that cannot be read: ${error.message}`, { cause: error })
  }
}

function encodeAssignment(partitions: readonly TopicPartition[]): Buffer {
  const assignedPartitions = byTopic(partitions).map(([topic, owned]) => ({
    topic,
    partitions: owned.map(({ partition }) => partition),
  }))
  return encodeMessage(ConsumerProtocolAssignment, ASSIGNMENT_VERSION, { assignedPartitions })
}

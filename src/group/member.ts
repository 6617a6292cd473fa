import type { Ticket } from '../model/shard.ts'
import { type Alarm, newAlarm } from './alarms.ts'

/** One assignment strategy a member speaks, with what it tells the group's leader under it. */
export interface MemberProtocol {
  readonly name: string
  readonly metadata: Buffer
}

const NOTHING = Buffer.alloc(0)

/**
 * A member of a classic group, from the JoinGroup that brought it in (or the record it was loaded from) until it
 * leaves, its session ends, or a rebalance goes on without it. Its id, timeouts, assignment and metadata under the
 * chosen protocol are in the log; the rest lives in memory only.
 */
export class Member {
  readonly memberId: string
  /** Of a static member (KIP-345): it stays in the group until its session ends, whatever it misses. */
  readonly groupInstanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  rebalanceTimeoutMs: number
  sessionTimeoutMs: number
  protocols: readonly MemberProtocol[]
  assignment: Buffer = NOTHING
  /** The JoinGroup that waits for the rebalance to end. */
  joinTicket: Ticket | null = null
  /** The SyncGroup that waits for the leader's assignment. */
  syncTicket: Ticket | null = null
  /** Has not completed a rebalance yet: it cannot send heartbeats, so its parked JoinGroup does not keep it alive. */
  isNew = false
  readonly session: Alarm

  constructor(identity: {
    groupId: string
    memberId: string
    groupInstanceId: string | null
    clientId: string
    clientHost: string
    rebalanceTimeoutMs: number
    sessionTimeoutMs: number
    protocols: readonly MemberProtocol[]
  }) {
    this.memberId = identity.memberId
    this.groupInstanceId = identity.groupInstanceId
    this.clientId = identity.clientId
    this.clientHost = identity.clientHost
    this.rebalanceTimeoutMs = identity.rebalanceTimeoutMs
    this.sessionTimeoutMs = identity.sessionTimeoutMs
    this.protocols = identity.protocols
    this.session = newAlarm('session', identity.groupId, identity.memberId)
  }

  /** A parked request is a sign of life, except from a member that nobody has heard of before. */
  get isAlive(): boolean {
    return !this.isNew && (this.joinTicket !== null || this.syncTicket !== null)
  }

  metadataFor(protocol: string): Buffer {
    return this.protocols.find(({ name }) => name === protocol)?.metadata ?? NOTHING
  }

  /** Whether `protocols` says nothing new: same names in the same order of preference, same metadata. */
  matches(protocols: readonly MemberProtocol[]): boolean {
    return (
      protocols.length === this.protocols.length &&
      protocols.every(({ name, metadata }, index) => {
        const mine = this.protocols[index] as MemberProtocol
        return mine.name === name && mine.metadata.equals(metadata)
      })
    )
  }
}

import type { Endpoint, ReplicaKey, Ticket, Voter } from './types.ts'

/**
 * The one change of the voter set that a leader works on (KIP-853). A new voter is first asked what it can do, then
 * waited for until it has caught up, so that a majority with it is no weaker than one without; then the record is
 * written, and must be committed by the new set before the next change may begin.
 */
export type PendingChange =
  | {
      readonly type: 'asking'
      readonly ticket: Ticket
      readonly key: ReplicaKey
      readonly endpoints: readonly Endpoint[]
      readonly correlationId: number
      readonly ackWhenCommitted: boolean
      readonly untilMs: number
    }
  | {
      readonly type: 'catching-up'
      readonly ticket: Ticket
      readonly voter: Voter
      readonly ackWhenCommitted: boolean
      readonly untilMs: number
    }
  | {
      readonly type: 'committing'
      readonly api: 'AddRaftVoter' | 'RemoveRaftVoter'
      /** Null when it was answered already. */
      readonly ticket: Ticket | null
      /** Of the record. */
      readonly offset: number
      readonly untilMs: number
    }

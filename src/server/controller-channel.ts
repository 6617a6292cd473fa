import type { ControllerApi } from '../controller/shard.ts'
import type { AddRaftVoter } from '../protocol/apis/add-raft-voter.ts'
import type { DescribeQuorum } from '../protocol/apis/describe-quorum.ts'
import type { RemoveRaftVoter } from '../protocol/apis/remove-raft-voter.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'

/** What a broker passes on for its clients: the controller's decisions, and what is asked of the quorum's leader. */
export type ForwardedApi = ControllerApi | typeof AddRaftVoter | typeof RemoveRaftVoter | typeof DescribeQuorum

/**
 * The way to the active controller, wherever it is, also while it changes. The answer comes when what was decided is
 * committed. Rejects with `ControllerUnavailableError` when no controller took the request in time.
 */
export interface ControllerChannel {
  /** A request of this node's own. */
  send<A extends ControllerApi>(api: A, request: RequestOf<A>, options?: { timeoutMs?: number }): Promise<ResponseOf<A>>
}

/** Whose request is passed on. */
export interface ClientOrigin {
  readonly version: number
  readonly clientId: string | null
  readonly host: string
  /** The client has gone: nobody waits for the answer. */
  readonly gone: boolean
}

/** A client's request, passed on to the active controller in its name. */
export interface ControllerForwarder {
  forward<A extends ForwardedApi>(api: A, request: RequestOf<A>, origin: ClientOrigin): Promise<Forwarded<A>>
}

export interface Forwarded<A extends ForwardedApi> {
  readonly response: ResponseOf<A>
  /** Offset of the metadata that holds what was decided; -1 when the controller does not say. */
  readonly metadataOffset: number
}

/** No controller is active or known, or it lost its place before the decision was committed: the outcome is unknown. */
export class ControllerUnavailableError extends Error {
  override name = 'ControllerUnavailableError'
  /** For the client. */
  readonly errorCode: number

  constructor(message: string, options: ErrorOptions & { errorCode?: number } = {}) {
    super(message, options)
    this.errorCode = options.errorCode ?? ErrorCode.REQUEST_TIMED_OUT
  }
}

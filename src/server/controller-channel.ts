import type { ControllerApi } from '../controller/shard.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'

/**
 * The way to the active controller, wherever it is. The answer comes when what was decided is committed. Rejects with
 * `ControllerUnavailableError` when no controller took the request.
 */
export interface ControllerChannel {
  send<A extends ControllerApi>(api: A, request: RequestOf<A>, version?: number): Promise<ResponseOf<A>>
}

/** No controller is active here or known, or it lost its place before the decision was committed: the outcome is unknown. */
export class ControllerUnavailableError extends Error {
  override name = 'ControllerUnavailableError'
}

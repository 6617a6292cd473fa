import type { LogUnavailableError } from '../env/replicated-log.ts'
import { ErrorCode, errorName } from '../protocol/errors.ts'

/** A request that no shard answered. `code` is what the client is to be told. */
export class CoordinatorError extends Error {
  override name = 'CoordinatorError'
  readonly code: number

  constructor(code: number, options?: ErrorOptions) {
    super(errorName(code), options)
    this.code = code
  }
}

/**
 * What a client of a coordinator hears when its log takes no records. The codes make it look the coordinator up again,
 * and try again; the reason itself would mean something else to it (as Kafka translates them).
 */
export function codeOfLogError(error: LogUnavailableError): number {
  switch (error.reason) {
    case 'resigned':
    case 'storage':
      return ErrorCode.NOT_COORDINATOR
    case 'not-enough-replicas':
    case 'out-of-space':
      return ErrorCode.COORDINATOR_NOT_AVAILABLE
    case 'too-large':
      return ErrorCode.UNKNOWN_SERVER_ERROR
  }
}

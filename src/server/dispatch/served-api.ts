import type { AnyApi, RequestOf, ResponseInput } from '../../protocol/schema.ts'
import type { Call } from '../connections/call.ts'

/** What a handler gives back: the response, a promise of it, or undefined when it answers through the call itself. */
export type Answer<A extends AnyApi> = ResponseInput<A> | undefined | Promise<ResponseInput<A> | undefined>

/** An API with the code that answers it. */
export interface ServedApi {
  readonly api: AnyApi
  /** Versions answered. */
  readonly served: readonly [first: number, last: number]
  /** Versions that ApiVersions names; null hides the API. */
  readonly advertised: readonly [first: number, last: number] | null
  readonly handle: (request: never, call: Call) => unknown
  /** Answers a version that is not served; without it the connection is closed, as Kafka does. */
  readonly handleUnknownVersion: ((call: Call) => void) | null
}

/**
 * Ties a handler to its API. A handler never throws: what it refuses it says in the response. An exception is a bug and
 * stops the node.
 */
export function serve<A extends AnyApi>(
  api: A,
  handle: (request: RequestOf<A>, call: Call) => Answer<A>,
  options: {
    readonly served?: readonly [number, number]
    readonly advertised?: readonly [number, number] | null
    readonly handleUnknownVersion?: (call: Call) => void
  } = {},
): ServedApi {
  const served = options.served ?? api.versions
  const advertised = options.advertised === undefined ? served : options.advertised
  return { api, served, advertised, handle, handleUnknownVersion: options.handleUnknownVersion ?? null }
}

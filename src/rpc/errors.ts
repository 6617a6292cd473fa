import { errorMessage, errorName, isRetriable } from '../protocol/errors.ts'

/** Everything that a client rejects with. `code` is stable and made for programs; the message is for people. */
export abstract class ClientError extends Error {
  abstract readonly code: string
  /** Whether the same call may succeed later without anything being changed. */
  abstract readonly retriable: boolean
}

/** The server answered with an error of the protocol; `code` is its name there, `errorCode` its number. */
export class BrokerError extends ClientError {
  override name = 'BrokerError'
  readonly code: string
  readonly errorCode: number
  readonly retriable: boolean
  /** As the server put it; null: it gave the code alone. */
  readonly serverMessage: string | null

  constructor(errorCode: number, what: string, options: ErrorOptions & { message?: string | null } = {}) {
    super(`${what}: ${options.message || errorMessage(errorCode)} (${errorName(errorCode)})`, options)
    this.code = errorName(errorCode)
    this.errorCode = errorCode
    this.retriable = isRetriable(errorCode)
    this.serverMessage = options.message || null
  }
}

/** A value that the request has no room for; nothing was sent. */
export class UnsendableError extends ClientError {
  override name = 'UnsendableError'
  readonly code = 'UNSENDABLE'
  readonly retriable = false
}

/** No connection, or it broke. What was under way may or may not have happened. */
export class ConnectionError extends ClientError {
  override name = 'ConnectionError'
  readonly code = 'CONNECTION'
  readonly retriable = true
}

/** No answer in time. What was asked for may still happen. */
export class TimeoutError extends ClientError {
  override name = 'TimeoutError'
  readonly code = 'TIMEOUT'
  readonly retriable = true
}

/** The server and this client share no version of the API. */
export class UnsupportedVersionError extends ClientError {
  override name = 'UnsupportedVersionError'
  readonly code = 'UNSUPPORTED_VERSION'
  readonly retriable = false
}

/** The server sent something that breaks the protocol. */
export class ProtocolError extends ClientError {
  override name = 'ProtocolError'
  readonly code = 'PROTOCOL'
  readonly retriable = false
}

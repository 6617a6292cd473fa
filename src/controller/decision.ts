import type { MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import { ErrorCode, errorMessage } from '../protocol/errors.ts'
import type { BrokerContext } from './config-view.ts'

/** What a handler wants: the records to append, and what to answer once they are committed. */
export interface Decision<Response> {
  readonly records: readonly MetadataRecord[]
  readonly response: Response
  /** For the log of the controller, once the records are in the metadata log. */
  readonly notices?: readonly Notice[]
}

/** Something an operator should be able to find later. */
export interface Notice {
  readonly level: 'info' | 'warn'
  readonly message: string
  readonly details: Readonly<Record<string, string | number>>
}

/** What is decided without a request: time has passed, or a broker is gone. */
export interface Due {
  readonly records: readonly MetadataRecord[]
  readonly notices: readonly Notice[]
}

export const NOTHING_DUE: Due = { records: [], notices: [] }

/** What a handler decides on. It changes nothing: the records that it returns do. */
export interface DecisionContext {
  readonly image: MetadataImage
  /** This controller as a broker: its static config gives the cluster's defaults. */
  readonly broker: BrokerContext
  readonly clusterId: string
  /** Version of the request. */
  readonly version: number
  /** Monotonic milliseconds. */
  readonly nowMs: number
  /** The offset that the first returned record will have. */
  readonly nextOffset: number
  /** 16 fresh bytes in Kafka's print form. */
  readonly newId: () => string
}

export interface Refusal {
  readonly errorCode: number
  readonly errorMessage: string | null
}

export const ACCEPTED: Refusal = { errorCode: ErrorCode.NONE, errorMessage: null }

/** Without a message, the general text of the code. */
export function refusal(errorCode: number, message: string = errorMessage(errorCode)): Refusal {
  return { errorCode, errorMessage: message }
}

/** The bound of one request, over all its topics. Kafka's. */
export const PARTITIONS_PER_REQUEST_MAX = 10_000

export function tooManyPartitions(partitions: number): Refusal {
  return refusal(
    ErrorCode.POLICY_VIOLATION,
    `Excessively large number of partitions per request: ${partitions}, at most ${PARTITIONS_PER_REQUEST_MAX} are allowed.`,
  )
}

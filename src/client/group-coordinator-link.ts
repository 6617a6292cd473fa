import type { AnyApi, RequestInput, ResponseOf } from '../protocol/schema.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Client, Lane } from './client.ts'
import type { RequestOptions } from '../rpc/connection.ts'
import { BrokerError, type ClientError, ConnectionError, TimeoutError } from '../rpc/errors.ts'

/** Finds the coordinator of one group and remembers it until it turns out to be wrong. */
export class GroupCoordinatorLink {
  readonly groupId: string
  readonly #client: Client
  readonly #lanes: { readonly group: Lane; readonly join: Lane }
  #nodeId: number | null = null
  #finding: Promise<number> | null = null

  /** A member needs lanes of its own: its JoinGroup is parked while others join. */
  constructor(client: Client, groupId: string, lanes = { group: 'group', join: 'join' }) {
    this.#client = client
    this.#lanes = lanes
    this.groupId = groupId
  }

  /** One try. Rejects with a `ClientError`; give it to `forget`. */
  async request<A extends AnyApi>(
    api: A,
    body: RequestInput<A> | ((version: number) => RequestInput<A>),
    { lane, ...options }: RequestOptions & { readonly lane: 'group' | 'join' },
  ): Promise<ResponseOf<A>> {
    const nodeId = this.#nodeId ?? (await this.#find())
    return this.#client.request(nodeId, api, body, { ...options, lane: this.#lanes[lane] })
  }

  /** Calls that overlap share one search. */
  #find(): Promise<number> {
    this.#finding ??= this.#client
      .findCoordinator(this.groupId)
      .then((nodeId) => {
        this.#nodeId = nodeId
        return nodeId
      })
      .finally(() => {
        this.#finding = null
      })
    return this.#finding
  }

  /** If the error may mean that the coordinator has moved, it is looked up again. */
  forget(error: ClientError): void {
    if (error instanceof ConnectionError || error instanceof TimeoutError) this.#nodeId = null
    const isMoved =
      error instanceof BrokerError &&
      (error.errorCode === ErrorCode.NOT_COORDINATOR || error.errorCode === ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if (isMoved) this.#nodeId = null
  }
}

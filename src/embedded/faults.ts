import { Fetch } from '../protocol/apis/fetch.ts'
import { Heartbeat } from '../protocol/apis/heartbeat.ts'
import { InitProducerId } from '../protocol/apis/init-producer-id.ts'
import { JoinGroup } from '../protocol/apis/join-group.ts'
import { OffsetCommit, type OffsetCommitRequest } from '../protocol/apis/offset-commit.ts'
import { Produce, type ProduceRequest } from '../protocol/apis/produce.ts'
import { SyncGroup } from '../protocol/apis/sync-group.ts'
import { ErrorCode, type ErrorName } from '../protocol/errors.ts'
import type { Call } from '../server/connections/call.ts'
import type { ServedApi } from '../server/dispatch/served-api.ts'

/** What happens to one request of a client. */
export type Fault =
  /** The connection ends, and nothing was done. */
  | { readonly type: 'disconnect' }
  /** It is done, and the connection ends before the answer: the client cannot know. */
  | { readonly type: 'lose-answer' }
  /** It is begun this many milliseconds later. */
  | { readonly type: 'delay'; readonly ms: number }
  /** Refused with this error, and nothing was done. For `FAILING_APIS`. */
  | { readonly type: 'error'; readonly error: ErrorName }

interface Waiting {
  readonly fault: Fault
  left: number
}

/** Faults that wait for requests, each API's in the order in which they were asked for. */
export class Faults {
  readonly #waiting = new Map<string, Waiting[]>()
  #apis: ReadonlySet<string> = new Set()

  /** The next `times` requests of `api` (its name in the protocol: `Produce`) meet `fault`. Throws `RangeError` where that cannot be. */
  next(api: string, fault: Fault, times = 1): void {
    if (!this.#apis.has(api))
      throw new RangeError(`no API ${api} is served; there are ${[...this.#apis].sort().join(', ')}`)
    if (fault.type === 'error') checkError(api, fault.error)
    if (fault.type === 'delay') checkWhole('ms', fault.ms, 0)
    checkWhole('times', times, 1)
    const queue = this.#waiting.get(api) ?? []
    queue.push({ fault, left: times })
    this.#waiting.set(api, queue)
  }

  /** Those that still wait are forgotten. */
  clear(): void {
    this.#waiting.clear()
  }

  /** The tables of a node, with the faults before their handlers. */
  around(apis: readonly ServedApi[]): readonly ServedApi[] {
    this.#apis = new Set(apis.map(({ api }) => api.name))
    return apis.map((served) => {
      const handle = served.handle as (request: unknown, call: Call) => unknown
      const meet = (request: unknown, call: Call) => {
        const fault = this.#take(served.api.name)
        return fault === null ? handle(request, call) : meetWith(fault, served.api.name, request, call, handle)
      }
      return { ...served, handle: meet }
    })
  }

  #take(api: string): Fault | null {
    const queue = this.#waiting.get(api)
    const [first] = queue ?? []
    if (queue === undefined || first === undefined) return null
    if (--first.left <= 0) queue.shift()
    return first.fault
  }
}

function meetWith(
  fault: Fault,
  api: string,
  request: unknown,
  call: Call,
  handle: (request: unknown, call: Call) => unknown,
): unknown {
  switch (fault.type) {
    case 'disconnect':
      return call.closeConnection(`a fault that was asked for: ${api} is not answered`)
    case 'lose-answer':
      loseAnswer(api, call)
      return handle(request, call)
    case 'delay':
      return new Promise((resolve) => {
        setTimeout(resolve, fault.ms)
      }).then(() => (call.gone ? undefined : handle(request, call)))
    case 'error':
      return refusals[api]?.(ErrorCode[fault.error], request)
  }
}

function loseAnswer(api: string, call: Call): void {
  const instead = () => call.closeConnection(`a fault that was asked for: the answer of ${api} is lost`)
  Object.assign(call, { reply: instead, replyAs: instead, replyNothing: instead })
}

/** The answer of an API that refuses a request with one error. */
const refusals: Readonly<Record<string, (errorCode: number, request: unknown) => object>> = {
  [Produce.name]: (errorCode, request) => ({
    responses: (request as ProduceRequest).topicData.map(({ partitionData, ...topic }) => ({
      ...topic,
      partitionResponses: partitionData.map(({ index }) => ({ index, errorCode, baseOffset: -1 })),
    })),
  }),
  [Fetch.name]: (errorCode) => ({ errorCode, responses: [] }),
  [OffsetCommit.name]: (errorCode, request) => ({
    topics: (request as OffsetCommitRequest).topics.map(({ partitions, ...topic }) => ({
      ...topic,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
    })),
  }),
  [JoinGroup.name]: (errorCode) => ({ errorCode, protocolName: '', leader: '', memberId: '', members: [] }),
  [SyncGroup.name]: (errorCode) => ({ errorCode, assignment: Buffer.alloc(0) }),
  [Heartbeat.name]: (errorCode) => ({ errorCode }),
  [InitProducerId.name]: (errorCode) => ({ errorCode, producerEpoch: -1 }),
}

/** What can be refused with any error. */
export const FAILING_APIS: readonly string[] = Object.keys(refusals)

function checkError(api: string, error: ErrorName): void {
  if (!FAILING_APIS.includes(api))
    throw new RangeError(`${api} cannot be given an error, only ${FAILING_APIS.join(', ')}`)
  if (!Object.hasOwn(ErrorCode, error)) throw new RangeError(`'${error}' is no error of the protocol`)
}

/** What a timer can wait for. */
const WHOLE_MAX = 2 ** 31 - 1

function checkWhole(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least && value <= WHOLE_MAX) return
  throw new RangeError(`${name} ${value}: a whole number from ${least} to ${WHOLE_MAX} is wanted`)
}

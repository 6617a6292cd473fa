import { UsageError } from '../../client/errors.ts'
import { BrokerError, ClientError, UnsendableError } from '../../rpc/errors.ts'
import { totalLag } from '../../client/group-lag.ts'
import type { ConsumerRecord } from '../../client/fetched-records.ts'
import { type MemoryBroker, NotInTimeError } from '../../embedded/memory-broker.ts'
import type { Duration } from '../../embedded/steered-clock.ts'
import { jsonRecord } from '../records/output-format.ts'
import { ControlError, countOf, faultOf, field, objectOf, recordOf, textField, topicOf } from './bodies.ts'

export interface ControlRequest {
  readonly method: string
  /** Decoded parts of the path. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
  /** Parsed JSON; undefined: none. */
  readonly body: unknown
}

type Route = (broker: MemoryBroker, request: ControlRequest, name: string) => Promise<unknown>

/** By method and path, `*` for a name. Each is one thing that a `MemoryBroker` offers. */
const ROUTES: Readonly<Record<string, Route>> = {
  'GET /': async (broker) => stateOf(broker),
  'POST /reset': async (broker) => {
    await broker.reset()
    return stateOf(broker)
  },
  'POST /clock/advance': async (broker, { body }) => {
    await broker.clock.advance(field(objectOf(body, 'the body'), 'by') as Duration)
    return stateOf(broker)
  },
  'POST /faults': async (broker, { body }) => {
    const { api, times, ...fault } = objectOf(body, 'a fault')
    broker.faults.next(textField({ api }, 'api'), faultOf(fault), countOf(times ?? 1, 'times'))
    return {}
  },
  'DELETE /faults': async (broker) => {
    broker.faults.clear()
    return {}
  },
  'POST /topics': async (broker, { body }) => {
    await broker.createTopic(textField(objectOf(body, 'a topic'), 'name'), topicOf(objectOf(body, 'a topic')))
    return {}
  },
  'GET /topics/*/records': async (broker, { query }, topic) => recordsOf(await find(broker, topic, query)),
  'POST /topics/*/records': async (broker, { body }, topic) => {
    if (!Array.isArray(body)) throw new ControlError(400, 'an array of records is wanted: texts, or objects')
    const records = body.map(recordOf)
    await broker.produce(topic, records)
    return { produced: records.length }
  },
  'GET /groups/*': async (broker, _, group) => {
    const partitions = await broker.group(group).partitions()
    return { lag: totalLag(partitions), partitions }
  },
}

/** Answers one request. Rejects with `ControlError`. */
export async function control(broker: MemoryBroker, request: ControlRequest): Promise<unknown> {
  const route = ROUTES[`${request.method} ${pattern(request.path)}`]
  if (route === undefined) throw new ControlError(404, `there is only ${Object.keys(ROUTES).join(', ')}`)
  try {
    return await route(broker, request, request.path[1] ?? '')
  } catch (error) {
    throw asControlError(error)
  }
}

function pattern([kind = '', name, ...rest]: readonly string[]): string {
  const isNamed = name !== undefined && (kind === 'topics' || kind === 'groups')
  const second = name === undefined ? [] : [isNamed ? '*' : name]
  return `/${[kind, ...second, ...rest].join('/')}`
}

function asControlError(error: unknown): unknown {
  if (error instanceof BrokerError && error.code === 'GROUP_ID_NOT_FOUND') return new ControlError(404, error.message)
  const isOfCaller = [RangeError, BrokerError, UsageError, UnsendableError].some((kind) => error instanceof kind)
  if (isOfCaller) return new ControlError(400, (error as Error).message)
  return error instanceof ClientError ? new ControlError(500, error.message) : error
}

function stateOf({ bootstrapServers, clock }: MemoryBroker) {
  return { bootstrap: bootstrapServers, now: clock.now().toISOString(), nowMs: clock.now().getTime() }
}

const WAIT_MS_MAX = 300_000

/** With `count` it is waited until there are so many. */
async function find(broker: MemoryBroker, topic: string, query: URLSearchParams): Promise<readonly ConsumerRecord[]> {
  const count = query.get('count')
  if (count === null) return broker.records(topic)
  const within = query.get('withinMs')
  const options = within === null ? {} : { withinMs: Math.min(numberIn(within, 'withinMs'), WAIT_MS_MAX) }
  try {
    return await broker.waitFor(topic, numberIn(count, 'count'), options)
  } catch (error) {
    // What is not there in time is the test's failure, and it wants to know what was there instead.
    if (error instanceof NotInTimeError) throw new ControlError(408, error.message)
    throw error
  }
}

function numberIn(text: string, name: string): number {
  return countOf(/^\d+$/.test(text) ? Number(text) : text, name)
}

/** As `consume --format json` prints them. */
function recordsOf(records: readonly ConsumerRecord[]): unknown[] {
  return records.map((record) => JSON.parse(jsonRecord({ ...record, ...record.batch })))
}

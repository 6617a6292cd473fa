import { UsageError } from '../../client/errors.ts'
import { BrokerError, ClientError, UnsendableError } from '../../rpc/errors.ts'
import type { ConsumerRecord } from '../../client/fetched-records.ts'
import type { Fault } from '../../embedded/faults.ts'
import type { MemoryBroker, ToProduce } from '../../embedded/memory-broker.ts'
import type { Duration } from '../../embedded/steered-clock.ts'
import { jsonRecord } from '../records/output-format.ts'

export interface ControlRequest {
  readonly method: string
  /** Decoded parts of the path. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
  /** Parsed JSON; undefined: none. */
  readonly body: unknown
}

/** What was asked cannot be done; `status` is HTTP's. */
export class ControlError extends Error {
  override name = 'ControlError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
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
    await broker.clock.advance(field(body, 'by') as Duration)
    return stateOf(broker)
  },
  'POST /faults': async (broker, { body }) => {
    const { api, times, ...fault } = objectOf(body)
    broker.faults.next(textField({ api }, 'api'), faultOf(fault), countOf(times ?? 1, 'times'))
    return {}
  },
  'DELETE /faults': async (broker) => {
    broker.faults.clear()
    return {}
  },
  'POST /topics': async (broker, { body }) => {
    await broker.createTopic(textField(body, 'name'), topicOf(objectOf(body)))
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
    return { lag: partitions.reduce((sum, { lag }) => sum + lag, 0), partitions }
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
  const withinMs = within === null ? undefined : Math.min(countOf(Number(within), 'withinMs'), WAIT_MS_MAX)
  try {
    return await broker.waitFor(topic, countOf(Number(count), 'count'), withinMs === undefined ? {} : { withinMs })
  } catch (error) {
    // What is not there in time is the test's failure, and it wants to know what was there instead.
    if (error instanceof Error && error.message.startsWith('not in ')) throw new ControlError(408, error.message)
    throw error
  }
}

/** As `consume --format json` prints them. */
function recordsOf(records: readonly ConsumerRecord[]): unknown[] {
  return records.map((record) => JSON.parse(jsonRecord({ ...record, ...record.batch })))
}

/** A record as it is printed, or only its value. */
function recordOf(given: unknown): ToProduce {
  if (typeof given === 'string') return given
  const fields = objectOf(given)
  const { partition, timestampMs, headers } = fields
  if (headers !== undefined && !Array.isArray(headers)) throw new ControlError(400, 'headers are an array of objects')
  return {
    key: bytesOf(fields, 'key'),
    value: bytesOf(fields, 'value'),
    ...(partition === undefined ? {} : { partition: countOf(partition, 'partition') }),
    ...(timestampMs === undefined ? {} : { timestampMs: countOf(timestampMs, 'timestampMs') }),
    ...(headers === undefined
      ? {}
      : { headers: headers.map((each) => ({ key: textField(each, 'key'), value: bytesOf(objectOf(each), 'value') })) }),
  }
}

function bytesOf(fields: Readonly<Record<string, unknown>>, name: string): Buffer | null {
  const base64 = fields[`${name}Base64`]
  if (typeof base64 === 'string') return Buffer.from(base64, 'base64')
  const text = fields[name]
  if (text === undefined || text === null) return null
  return Buffer.from(typeof text === 'string' ? text : JSON.stringify(text))
}

const TOPIC_FIELDS = ['name', 'partitions', 'replicationFactor', 'configs']

/** What is not known is refused: a setting that was left out without a word would be looked for elsewhere. */
function topicOf(fields: Readonly<Record<string, unknown>>): Parameters<MemoryBroker['createTopic']>[1] {
  const unknown = Object.keys(fields).find((name) => !TOPIC_FIELDS.includes(name))
  if (unknown !== undefined)
    throw new ControlError(400, `${JSON.stringify(unknown)}: a topic has ${TOPIC_FIELDS.join(', ')}`)
  const { partitions, replicationFactor, configs = {} } = fields
  const texts = Object.entries(objectOf(configs)).map(([name, value]) => {
    if (typeof value === 'object') throw new ControlError(400, `${name} ${JSON.stringify(value)}: a text is wanted`)
    return [name, String(value)]
  })
  return {
    ...(partitions === undefined ? {} : { partitions: countOf(partitions, 'partitions') }),
    ...(replicationFactor === undefined ? {} : { replicationFactor: countOf(replicationFactor, 'replicationFactor') }),
    configs: Object.fromEntries(texts),
  }
}

function faultOf(fault: Readonly<Record<string, unknown>>): Fault {
  const { type } = fault
  if (type === 'delay') return { type, ms: countOf(fault['ms'], 'ms') }
  if (type === 'error') return { type, error: textField(fault, 'error') as never }
  if (type === 'disconnect' || type === 'lose-answer') return { type }
  throw new ControlError(400, `type ${JSON.stringify(type)}: disconnect, lose-answer, delay or error is wanted`)
}

function objectOf(given: unknown): Readonly<Record<string, unknown>> {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Record<string, unknown>
  throw new ControlError(400, 'an object of JSON is wanted')
}

function field(given: unknown, name: string): string | number {
  const value = objectOf(given)[name]
  if (typeof value === 'string' || typeof value === 'number') return value
  throw new ControlError(400, `${name} is missing: a text or a number is wanted`)
}

function textField(given: unknown, name: string): string {
  const value = field(given, name)
  if (typeof value === 'string' && value !== '') return value
  throw new ControlError(400, `${name} ${JSON.stringify(value)}: a text is wanted`)
}

function countOf(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new ControlError(400, `${name} ${JSON.stringify(value)}: a whole number is wanted`)
}

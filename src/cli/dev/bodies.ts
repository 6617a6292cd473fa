import type { Fault } from '../../embedded/faults.ts'
import type { MemoryBroker, ToProduce } from '../../embedded/memory-broker.ts'

/** What was asked cannot be done; `status` is HTTP's. */
export class ControlError extends Error {
  override name = 'ControlError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Those that `consume --format json` prints. Where a record was is not where it shall go, but what was printed is taken. */
const RECORD_FIELDS = [
  'topic',
  'partition',
  'offset',
  'timestampMs',
  'key',
  'keyBase64',
  'value',
  'valueBase64',
  'headers',
]
const HEADER_FIELDS = ['key', 'value', 'valueBase64']
const TOPIC_FIELDS = ['name', 'partitions', 'replicationFactor', 'configs']

/** A record as it is printed, or only its value. */
export function recordOf(given: unknown, index: number): ToProduce {
  if (typeof given === 'string') return given
  const what = `record ${index}`
  const fields = objectOf(given, what)
  onlyThese(fields, RECORD_FIELDS, what)
  const { partition, timestampMs, headers } = fields
  return {
    key: bytesOf(fields, 'key', what),
    value: bytesOf(fields, 'value', what),
    ...(partition === undefined ? {} : { partition: countOf(partition, 'partition') }),
    ...(timestampMs === undefined ? {} : { timestampMs: countOf(timestampMs, 'timestampMs') }),
    ...(headers === undefined ? {} : { headers: headersOf(headers, what) }),
  }
}

/** An array and no object: one key may come several times. */
function headersOf(given: unknown, record: string): { key: string; value: Buffer | null }[] {
  if (!Array.isArray(given))
    throw new ControlError(400, `headers of ${record}: an array is wanted, [{"key": "k", "value": "v"}]`)
  return given.map((each: unknown, index) => {
    const what = `header ${index} of ${record}`
    const header = objectOf(each, what)
    onlyThese(header, HEADER_FIELDS, what)
    const { key } = header
    if (typeof key !== 'string') throw new ControlError(400, `${what}: key ${shown(key)}; a text is wanted`)
    return { key, value: bytesOf(header, 'value', what) }
  })
}

function bytesOf(fields: Fields, name: string, what: string): Buffer | null {
  const base64 = fields[`${name}Base64`]
  if (base64 !== undefined) {
    if (typeof base64 === 'string' && isBase64(base64)) return Buffer.from(base64, 'base64')
    throw new ControlError(400, `${what}: ${name}Base64 ${shown(base64)} is no Base64`)
  }
  const text = fields[name]
  if (text === undefined || text === null) return null
  return Buffer.from(typeof text === 'string' ? text : JSON.stringify(text))
}

function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
}

export function topicOf(fields: Fields): Parameters<MemoryBroker['createTopic']>[1] {
  onlyThese(fields, TOPIC_FIELDS, 'a topic')
  const { partitions, replicationFactor, configs = {} } = fields
  const texts = Object.entries(objectOf(configs, 'configs')).map(([name, value]) => {
    if (typeof value === 'object') throw new ControlError(400, `${name} ${JSON.stringify(value)}: a text is wanted`)
    return [name, String(value)]
  })
  return {
    ...(partitions === undefined ? {} : { partitions: countOf(partitions, 'partitions') }),
    ...(replicationFactor === undefined ? {} : { replicationFactor: countOf(replicationFactor, 'replicationFactor') }),
    configs: Object.fromEntries(texts),
  }
}

export function faultOf(fault: Fields): Fault {
  const { type } = fault
  if (type === 'delay') return { type, ms: countOf(fault['ms'], 'ms') }
  if (type === 'error') return { type, error: textField(fault, 'error') as never }
  if (type === 'disconnect' || type === 'lose-answer') return { type }
  throw new ControlError(400, `type ${shown(type)}; disconnect, lose-answer, delay or error is wanted`)
}

/** What is not known is refused: left out without a word, it would be looked for elsewhere. */
function onlyThese(fields: Fields, names: readonly string[], what: string): void {
  const unknown = Object.keys(fields).find((name) => !names.includes(name))
  if (unknown !== undefined) throw new ControlError(400, `${shown(unknown)}: ${what} may have ${names.join(', ')}`)
}

export function objectOf(given: unknown, what: string): Fields {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Fields
  throw new ControlError(400, `${what} ${shown(given)}; an object of JSON is wanted`)
}

export function field(fields: Fields, name: string): string | number {
  const value = fields[name]
  if (typeof value === 'string' || typeof value === 'number') return value
  throw new ControlError(400, `${name} ${shown(value)}; a text or a number is wanted`)
}

export function textField(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value === 'string' && value !== '') return value
  throw new ControlError(400, `${name} ${shown(value)}; a text is wanted`)
}

export function countOf(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new ControlError(400, `${name} ${shown(value)}: a whole number is wanted`)
}

const SHOWN_CHARACTERS_MAX = 100

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'is missing'
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text
}

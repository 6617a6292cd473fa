/** Kafka's types, with the codes that DescribeConfigs sends. */
export const ConfigType = {
  boolean: 1,
  string: 2,
  int: 3,
  short: 4,
  long: 5,
  double: 6,
  list: 7,
  class: 8,
  password: 9,
} as const
export type ConfigTypeName = keyof typeof ConfigType

export interface ConfigRule {
  /** Numbers: inclusive bounds. */
  readonly atLeast?: number
  readonly atMost?: number
  /** A number outside the bounds that is allowed all the same. */
  readonly orElse?: number
  /** Strings and the elements of lists. */
  readonly oneOf?: readonly string[]
  readonly ignoreCase?: boolean
  /** A list or string must not be empty. */
  readonly filled?: boolean
  /** What is wrong with the value, or null; for rules of one key only. */
  readonly check?: (value: string, name: string) => string | null
}

export interface ConfigDef extends ConfigRule {
  readonly name: string
  readonly type: ConfigTypeName
  /** In its normal form; null: none. */
  readonly default: string | null
  /** One line for the user. */
  readonly doc: string
  /** How a broker key changes while the broker runs: not at all, for one broker, or for all of them together. */
  readonly update: 'read-only' | 'per-broker' | 'cluster-wide'
  /** Without a broker's own default: known only as a dynamic config, and shown only where it is set. */
  readonly dynamicOnly?: boolean
  /** Accepted, but not shown: Kafka's own tests and experiments. */
  readonly internal?: boolean
  /**
   * Accepted and shown, but changes nothing here: it steers a Java virtual machine, a feature that this version does
   * not serve, or something that is done in a way of our own. Setting it in a file or by a flag is reported once at the start.
   */
  readonly ignored?: 'jvm' | 'not-served' | 'own-way'
}

type Options = Omit<ConfigDef, 'name' | 'type' | 'default' | 'doc' | 'update'> & {
  readonly update?: 'per-broker' | 'cluster-wide'
}

/** `config('int', 'num.partitions', '1', 'Partitions of …', { atLeast: 1 })` */
export function config(
  type: ConfigTypeName,
  name: string,
  defaultValue: string | null,
  doc: string,
  options: Options = {},
): ConfigDef {
  return { update: 'read-only', ...options, name, type, default: defaultValue, doc }
}

export const LONG_MAX = '9223372036854775807'
export const INT_MAX = '2147483647'

/** Passwords never leave the node. */
export function isSensitive(def: ConfigDef): boolean {
  return def.type === 'password'
}

export type Parsed = { readonly value: string } | { readonly error: string }

/** `text` in the normal form in which it is stored and shown, or why it is not a value of `def`, in Kafka's words. */
export function parseConfig(def: ConfigDef, text: string): Parsed {
  const trimmed = text.trim()
  const refuse = (reason: string): Parsed => ({
    error: `Invalid value ${text} for configuration ${def.name}: ${reason}`,
  })
  const value = normalForm(def, trimmed)
  if (value === null) {
    if (def.type === 'boolean') return refuse('Expected value to be either true or false')
    return refuse(`Not a number of type ${def.type.toUpperCase()}`)
  }
  const broken = breach(def, value)
  if (broken === null) return { value }
  return { error: `Invalid value ${broken.value} for configuration ${def.name}: ${broken.reason}` }
}

/** What is wrong, and with which part of the value: lists as Java shows them, in brackets. */
interface Breach {
  readonly value: string
  readonly reason: string
}

const integerRanges: Partial<Record<ConfigTypeName, readonly [bigint, bigint]>> = {
  short: [-(2n ** 15n), 2n ** 15n - 1n],
  int: [-(2n ** 31n), 2n ** 31n - 1n],
  long: [-(2n ** 63n), 2n ** 63n - 1n],
}

/** Null: not a value of the type. */
function normalForm({ type, oneOf }: ConfigDef, text: string): string | null {
  switch (type) {
    case 'boolean': {
      const lower = text.toLowerCase()
      return lower === 'true' || lower === 'false' ? lower : null
    }
    case 'short':
    case 'int':
    case 'long': {
      if (!/^[+-]?[0-9]{1,30}$/.test(text)) return null
      const number = BigInt(text.replace(/^\+/, ''))
      const [low, high] = integerRanges[type] as readonly [bigint, bigint]
      return number >= low && number <= high ? number.toString() : null
    }
    case 'double':
      return /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$/.test(text)
        ? doubleText(Number.parseFloat(text))
        : null
    case 'list': {
      if (text === '') return ''
      const values = text.split(/\s*,\s*/)
      // Of a choice each counts once (KIP-1161); in other lists Kafka keeps what is there twice.
      return (oneOf === undefined ? values : [...new Set(values)]).join(',')
    }
    case 'string':
    case 'class':
    case 'password':
      return text
  }
}

/** As Java prints a double: always with a point, and in computer notation outside [0.001, 10^7). */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  const size = Math.abs(value)
  if (value === 0 || (size >= 1e-3 && size < 1e7)) return Number.isInteger(value) ? `${value}.0` : String(value)
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string]
  return `${mantissa.includes('.') ? mantissa : `${mantissa}.0`}E${Number(exponent)}`
}

/** The elements of a list in normal form. */
export function listOf(value: string): string[] {
  return value === '' ? [] : value.split(',')
}

function breach(def: ConfigDef, value: string): Breach | null {
  const reason = rangeBreach(def, value)
  if (reason !== null) return { value, reason }
  for (const each of def.type === 'list' ? listOf(value) : [value]) {
    if (def.oneOf !== undefined && !isOneOf(def, each)) {
      const how = def.ignoreCase ? ' (case insensitive)' : ''
      return { value: each, reason: `String must be one of${how}: ${def.oneOf.join(', ')}` }
    }
  }
  if (def.filled && value === '') {
    return { value, reason: def.type === 'list' ? 'Configuration must not be empty' : 'String may not be empty' }
  }
  const special = def.check?.(value, def.name) ?? null
  if (special === null) return null
  return { value: def.type === 'list' ? `[${listOf(value).join(', ')}]` : value, reason: special }
}

function rangeBreach(def: ConfigDef, value: string): string | null {
  const { atLeast, atMost, orElse } = def
  if (atLeast === undefined && atMost === undefined) return null
  const number = Number(value)
  if (number >= (atLeast ?? number) && number <= (atMost ?? number)) return null
  if (number === orElse) return null
  if (orElse !== undefined) return `Value must be between ${atLeast} and ${atMost} or equal to ${orElse}`
  if (atLeast !== undefined && number < atLeast) return `Value must be at least ${bound(def, atLeast)}`
  return `Value must be no more than ${bound(def, atMost as number)}`
}

function isOneOf({ oneOf = [], ignoreCase }: ConfigDef, text: string): boolean {
  if (!ignoreCase) return oneOf.includes(text)
  return oneOf.some((each) => each.toLowerCase() === text.toLowerCase())
}

function bound(def: ConfigDef, value: number): string {
  return def.type === 'double' ? String(value) : value.toFixed(0)
}

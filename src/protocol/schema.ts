import { assert } from '../base/assert.ts'
import {
  ALWAYS,
  type AnyField,
  Field,
  type Fields,
  type InputOf,
  type ScalarKind,
  type StructIn,
  type StructOut,
  type ValueOf,
} from './field.ts'

export type { InputOf, ValueOf } from './field.ts'

/**
 * The schema language. A schema is a value that describes one structure in all its versions. The static types of what
 * is decoded (`ValueOf`) and of what may be encoded (`InputOf`) are inferred from it; `decode.ts` and `encode.ts` turn
 * it into code for one version when that version is first used.
 */

function scalar<Out, In = Out>(kind: ScalarKind, zero: Out): Field<Out, In> {
  return new Field({ kind }, { ...ALWAYS, absent: zero })
}

/** All zero bytes, in the print form of `uuid`. */
const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA'

export const bool = scalar<boolean>('bool', false)
export const int8 = scalar<number>('int8', 0)
export const int16 = scalar<number>('int16', 0)
export const uint16 = scalar<number>('uint16', 0)
export const int32 = scalar<number>('int32', 0)
export const uint32 = scalar<number>('uint32', 0)
/** A number: exact within ±2^53, the nearest double beyond (see `ByteReader.int64`). */
export const int64 = scalar<number>('int64', 0)
/** An int64 all of whose bits matter, such as a hash. */
export const bigint64 = scalar<bigint>('bigint64', 0n)
export const float64 = scalar<number>('float64', 0)
/** At most 32767 bytes of UTF-8. */
export const string = scalar<string>('string', '')
/** 16 bytes, as the 22 characters of base64url in which Kafka prints them; `NO_TOPIC_ID` is all zero. */
export const uuid = scalar<string>('uuid', ZERO_UUID)
/** Decoding gives a view of the input; encoding copies. */
export const bytes = scalar<Buffer, Uint8Array>('bytes', Buffer.alloc(0))
/**
 * Record batches. Decoding gives one view of the input (none when it is empty); encoding gathers the pieces by
 * reference, so nobody may change them until the message has been sent.
 */
export const records = scalar<readonly Buffer[]>('records', Object.freeze([]))

/** A structure. Its fields stand on the wire in the order in which they are named here. */
export function struct<F extends Fields>(fields: F): Field<StructOut<F>, StructIn<F>> {
  return new Field({ kind: 'struct', fields }, { ...ALWAYS, absent: zeroOf(fields) })
}

function zeroOf(fields: Fields): unknown {
  const zero: Record<string, unknown> = {}
  for (const name in fields) zero[name] = (fields[name] as AnyField).traits.absent
  return Object.freeze(zero)
}

/** Elements have no modifiers of their own: an array of nullable things does not exist in Kafka's formats. */
export function array<F extends AnyField>(of: F): Field<readonly ValueOf<F>[], readonly InputOf<F>[]> {
  const { since, until, nullableSince, tag } = of.traits
  assert(
    since === 0 && until === ALWAYS.until && nullableSince === ALWAYS.nullableSince && tag === null,
    'an element of an array with modifiers',
  )
  return new Field({ kind: 'array', of: of.type }, { ...ALWAYS, absent: Object.freeze([]) })
}

/** Which of a node's listeners answers an API. */
export type Listener = 'broker' | 'controller'

/** One request with its response, in all versions. */
export interface Api<Request extends AnyField = AnyField, Response extends AnyField = AnyField> {
  readonly key: number
  readonly name: string
  /** The first and the last version that Kafka 4.4.0 knows and calls stable. What a server offers may be less. */
  readonly versions: readonly [first: number, last: number]
  /** Versions past `versions` that are defined here, but whose meaning may still change: never offered. */
  readonly unstable?: number
  /** The first version with compact lengths and tag sections (KIP-482); Infinity when there is none. */
  readonly flexible: number
  readonly listeners: readonly Listener[]
  /** `v0`: without a tag section even in flexible versions. */
  readonly responseHeader: 'v0' | 'as flexible'
  readonly request: Request
  readonly response: Response
}

interface ApiDefinition<Request, Response> {
  readonly key: number
  readonly name: string
  readonly versions: readonly [first: number, last: number]
  readonly unstable?: number
  readonly flexible?: number
  readonly listeners: readonly Listener[]
  readonly responseHeader?: 'v0'
  readonly request: Request
  readonly response: Response
}

export function api<Request extends AnyField, Response extends AnyField>(
  definition: ApiDefinition<Request, Response>,
): Api<Request, Response> {
  return { flexible: Number.POSITIVE_INFINITY, responseHeader: 'as flexible', ...definition }
}

/** A decoded request: every field is there. */
export type RequestOf<A extends Api> = ValueOf<A['request']>
/** A decoded response: every field is there. */
export type ResponseOf<A extends Api> = ValueOf<A['response']>
/** What may be encoded as a request: fields with a default may be left out. Every `RequestOf` is one. */
export type RequestInput<A extends Api> = InputOf<A['request']>
/** What may be encoded as a response: fields with a default may be left out. Every `ResponseOf` is one. */
export type ResponseInput<A extends Api> = InputOf<A['response']>

/** Any API, for code that passes bodies through without looking inside. */
export type AnyApi = Api

/** Anything that is not a request: a file's content, a control record, a blob inside of a request. */
export interface Message<Body extends AnyField = AnyField> {
  readonly name: string
  readonly versions: readonly [first: number, last: number]
  readonly flexible: number
  /** What a version past the last known one means: it is refused, or read as the last one, ignoring what follows. */
  readonly newer: 'refused' | 'as last known'
  readonly fields: Body
}

export function message<Body extends AnyField>(
  definition: Omit<Message<Body>, 'flexible' | 'newer'> & Partial<Pick<Message, 'flexible' | 'newer'>>,
): Message<Body> {
  return { flexible: Number.POSITIVE_INFINITY, newer: 'refused', ...definition }
}

/** A record of a log in which every record names its schema: `__cluster_metadata`, `__remote_log_metadata`. */
export interface LogRecord<Body extends AnyField = AnyField> {
  readonly id: number
  /** Kafka's name of the schema without the word Record. */
  readonly name: string
  readonly versions: readonly [first: number, last: number]
  readonly flexible: number
  readonly fields: Body
}

export function logRecord<Body extends AnyField>(definition: LogRecord<Body>): LogRecord<Body> {
  return definition
}

/**
 * A record of a compacted log of a coordinator: the key says what it is about, the value what is so; no value deletes it.
 * Keys have one version for ever, since compaction compares their bytes.
 */
export interface CoordinatorRecord<Key extends AnyField = AnyField, Value extends AnyField = AnyField> {
  readonly id: number
  /** Kafka's name of the schemas without the words Key and Value. */
  readonly name: string
  readonly key: Key
  /** Of the value. */
  readonly versions: readonly [first: number, last: number]
  /** Of the value. */
  readonly flexible: number
  readonly value: Value
}

export function coordinatorRecord<Key extends AnyField, Value extends AnyField>(
  definition: Omit<CoordinatorRecord<Key, Value>, 'flexible'> & { readonly flexible?: number },
): CoordinatorRecord<Key, Value> {
  return { flexible: Number.POSITIVE_INFINITY, ...definition }
}

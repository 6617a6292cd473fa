import type { AnyApi } from '../../src/protocol/schema.ts'
import { type AnyField, type Fields, type StructType, type Type } from '../../src/protocol/field.ts'
import { existsIn, isNullable } from '../../src/protocol/layout.ts'

export type Body = Record<string, unknown>

/** Stands in a request for what is known only when it is sent. */
export abstract class Later {
  abstract in(memory: ReadonlyMap<string, unknown>): unknown
}

/** What only the server's earlier answers tell: a topic's id, a member's id, a generation. */
export class Learned extends Later {
  readonly key: string
  readonly otherwise: unknown
  /** For numbers: so much more than what was learned. */
  readonly plus: number

  constructor(key: string, otherwise: unknown, plus = 0) {
    super()
    this.key = key
    this.otherwise = otherwise
    this.plus = plus
  }

  in(memory: ReadonlyMap<string, unknown>): unknown {
    const value = memory.get(this.key) ?? this.otherwise
    return typeof value === 'number' ? value + this.plus : value
  }
}

/** One request of a sequence. Nothing in it depends on the server it goes to, except by `Learned`. */
export interface Step {
  readonly api: AnyApi
  readonly version: number
  readonly body: Body
  readonly clientId?: string | null
  /** Requests of one name go over one connection, one after the other. */
  readonly channel?: string
  /** May wait for other requests of its group before it is answered. */
  readonly waits?: true
  /** Has no answer by its nature. */
  readonly silent?: boolean
  /** Changes the frame that was encoded. */
  readonly spoil?: (frame: Buffer) => Buffer
  /** What later steps need of the answer. */
  readonly learn?: (answer: Body, tell: (key: string, value: unknown) => void) => void
}

/** The value with everything in its place that this side has learned. */
export function resolved(value: unknown, memory: ReadonlyMap<string, unknown>): unknown {
  if (value instanceof Later) return value.in(memory)
  if (Array.isArray(value)) return value.map((item) => resolved(item, memory))
  if (value === null || typeof value !== 'object' || Buffer.isBuffer(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolved(item, memory)]))
}

/** The fields that this version has, with nulls only where it knows them: so one body serves every version of an API. */
export function fitted(struct: StructType, value: Body, version: number): Body {
  const fields: Fields = struct.fields
  const body: Body = {}
  for (const [name, { type, traits }] of Object.entries(fields) as [string, AnyField][]) {
    if (!existsIn(traits, version)) continue
    const given = value[name]
    if (given === undefined) {
      if (!traits.optional) body[name] = zeroOf(type)
    } else if (given === null) {
      body[name] = isNullable(traits, version) ? null : zeroOf(type)
    } else {
      body[name] = fittedValue(type, given, version)
    }
  }
  return body
}

function fittedValue(type: Type, value: unknown, version: number): unknown {
  if (type.kind === 'struct') return fitted(type, value as Body, version)
  if (type.kind !== 'array' || !Array.isArray(value)) return value
  return value.map((item) => fittedValue(type.of, item, version))
}

function zeroOf(type: Type): unknown {
  switch (type.kind) {
    case 'bool':
      return false
    case 'bigint64':
      return 0n
    case 'string':
      return ''
    case 'uuid':
      return 'AAAAAAAAAAAAAAAAAAAAAA'
    case 'bytes':
      return Buffer.alloc(0)
    case 'records':
    case 'array':
      return []
    case 'struct':
      return fitted(type, {}, 0)
    default:
      return 0
  }
}

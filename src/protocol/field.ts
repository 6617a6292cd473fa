/** What a field holds, without the modifiers that depend on the version. */
export type Type =
  | { readonly kind: ScalarKind }
  | { readonly kind: 'array'; readonly of: Type }
  | { readonly kind: 'struct'; readonly fields: Readonly<Record<string, AnyField>> }

export type StructType = Extract<Type, { kind: 'struct' }>

export type ScalarKind =
  | 'bool'
  | 'int8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'bigint64'
  | 'float64'
  | 'string'
  | 'uuid'
  | 'bytes'
  | 'records'

/** The part of a field that says in which versions it exists and how. Versions are inclusive. */
export interface Traits {
  readonly since: number
  readonly until: number
  /** Null is allowed from this version on; Infinity when never. */
  readonly nullableSince: number
  readonly tag: number | null
  /** May be dropped silently when encoding for a version that lacks it. */
  readonly ignorable: boolean
  /** The value in versions without the field, of a tagged field that was not sent, and of one the caller left out. */
  readonly absent: unknown
  /** The one who encodes may leave it out. */
  readonly optional: boolean
}

declare const types: unique symbol

/**
 * One field of a structure. It never changes: each modifier returns a new one, so fields and structures can be shared
 * between definitions. `Out` is what decoding gives, `In` what encoding takes; `Optional` fields may be left out
 * by the one who encodes, and then have their `absent` value.
 */
export class Field<Out, In = Out, Optional extends boolean = false> {
  declare readonly [types]: { readonly out: Out; readonly in: In; readonly optional: Optional }
  readonly type: Type
  readonly traits: Traits

  constructor(type: Type, traits: Traits) {
    this.type = type
    this.traits = traits
  }

  #with(change: Partial<Traits>): Field<never, never, never> {
    return new Field(this.type, { ...this.traits, ...change })
  }

  /** Exists from this version on. `absent` is its value before; the zero of its type when not given. */
  since(version: number, options: { absent?: Out } = {}): Field<Out, In, true> {
    return this.#with({ since: version, optional: true, ...options })
  }

  /** Exists up to and including this version. */
  until(version: number): Field<Out, In, true> {
    return this.#with({ until: version, optional: true })
  }

  /** May be left out by the one who encodes, and then is `value`; also the value where the version lacks the field. */
  default(value: Out): Field<Out, In, true> {
    return this.#with({ absent: value, optional: true })
  }

  /** Null is allowed, from `since` on. It does not become the default by this. */
  nullable(since = 0): Field<Out | null, In | null, Optional> {
    return this.#with({ nullableSince: since })
  }

  /** In the tag section at the end of its structure (KIP-482), and only there when it differs from its default. */
  tag(tag: number): Field<Out, In, true> {
    return this.#with({ tag, optional: true })
  }

  /**
   * Dropped silently when encoded for a version that lacks it. Any other field that a version lacks is refused there
   * unless it has its default, so that nobody believes to have said what was not sent (Kafka's rule).
   */
  get ignorable(): Field<Out, In, Optional> {
    return this.#with({ ignorable: true })
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- any field at all: `unknown` is not what the modifiers take.
export type AnyField = Field<any, any, boolean>
export type Fields = Readonly<Record<string, AnyField>>

/** What decoding gives: every field is there, with its `absent` value where the version or the sender lacks it. */
export type ValueOf<F extends AnyField> = F[typeof types]['out']
/** What encoding takes: fields that have a default, are tagged or are not in every version may be left out. */
export type InputOf<F extends AnyField> = F[typeof types]['in']

type OptionalNames<F extends Fields> = {
  [K in keyof F]: F[K][typeof types]['optional'] extends true ? K : never
}[keyof F]
export type StructOut<F extends Fields> = { readonly [K in keyof F]: ValueOf<F[K]> }
export type StructIn<F extends Fields> = {
  readonly [K in Exclude<keyof F, OptionalNames<F>>]: InputOf<F[K]>
} & {
  readonly [K in OptionalNames<F>]?: InputOf<F[K]> | undefined
}

/** Of a field without modifiers. */
export const ALWAYS: Traits = {
  since: 0,
  until: Number.POSITIVE_INFINITY,
  nullableSince: Number.POSITIVE_INFINITY,
  tag: null,
  ignorable: false,
  absent: undefined,
  optional: false,
}

import type { AnyField, ScalarKind, StructType, Traits, Type } from './field.ts'

/** Facts about a type's bytes that encoder and decoder share. */

/** One version of a structure: `flexible` (KIP-482) means compact lengths and a tag section. */
export interface Variant {
  readonly version: number
  readonly flexible: boolean
}

export function existsIn(traits: Traits, version: number): boolean {
  return version >= traits.since && version <= traits.until
}

const FIXED_SIZES: Partial<Record<ScalarKind, number>> = {
  bool: 1,
  int8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  bigint64: 8,
  float64: 8,
  uuid: 16,
}

/** The bytes of every value of `type`, or undefined when they differ from value to value. */
export function fixedSize(type: Type, variant: Variant): number | undefined {
  if (type.kind === 'array') return undefined
  if (type.kind !== 'struct') return FIXED_SIZES[type.kind]
  let size = variant.flexible ? 1 : 0
  for (const { type: inner, traits } of fieldsIn(type, variant.version)) {
    const innerSize = isNullable(traits, variant.version) || traits.tag !== null ? undefined : fixedSize(inner, variant)
    if (innerSize === undefined) return undefined
    size += innerSize
  }
  return size
}

/** The fewest bytes that a value of `type` takes: what bounds an array's claimed length. */
export function minSize(type: Type, nullable: boolean, variant: Variant): number {
  if (type.kind === 'struct') {
    if (nullable) return 1
    let size = variant.flexible ? 1 : 0
    for (const { type: inner, traits } of fieldsIn(type, variant.version)) {
      if (traits.tag === null) size += minSize(inner, isNullable(traits, variant.version), variant)
    }
    return size
  }
  if (type.kind === 'array' || type.kind === 'bytes' || type.kind === 'records') return variant.flexible ? 1 : 4
  if (type.kind === 'string') return variant.flexible ? 1 : 2
  return FIXED_SIZES[type.kind] as number
}

export function isNullable(traits: Traits, version: number): boolean {
  return version >= traits.nullableSince
}

function fieldsIn(type: StructType, version: number): AnyField[] {
  return Object.values(type.fields).filter(({ traits }) => existsIn(traits, version))
}

/** The structure behind a field made by `struct`. */
export function structOf(field: AnyField): StructType {
  return field.type as StructType
}

/** A cache per structure and variant: code is made when a version is first used, and once. */
export function perVariant<T>(make: (type: StructType, variant: Variant) => T) {
  const cache = new WeakMap<StructType, T[]>()
  return (type: StructType, variant: Variant): T => {
    let made = cache.get(type)
    if (made === undefined) {
      made = []
      cache.set(type, made)
    }
    const index = variant.version * 2 + (variant.flexible ? 1 : 0)
    return (made[index] ??= make(type, variant))
  }
}

import type { Random } from '../base/random.ts'
import { existsIn, isNullable } from './layout.ts'
import type { AnyField, Fields, StructType, Type } from './field.ts'

/**
 * Random values of a schema, for tests, fuzzers and the simulator: every field of the version is set, edges of the ranges come
 * often, and fields that the version lacks have their `absent` value, so that decoding the encoded value gives an equal one.
 */
export function randomStruct(type: StructType, version: number, random: Random): Record<string, unknown> {
  return randomFields(type.fields, version, random)
}

function randomFields(fields: Fields, version: number, random: Random): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  for (const name in fields) {
    const { type, traits } = fields[name] as AnyField
    if (!existsIn(traits, version) || random.chance(0.1)) value[name] = traits.absent
    else if (isNullable(traits, version) && random.chance(0.2)) value[name] = null
    else value[name] = randomValue(type, version, random)
  }
  return value
}

const LIMITS: Readonly<Record<string, readonly [number, number]>> = {
  int8: [-0x80, 0x7f],
  int16: [-0x8000, 0x7fff],
  uint16: [0, 0xffff],
  int32: [-0x80000000, 0x7fffffff],
  uint32: [0, 0xffffffff],
  // The ends of an int64 are the doubles next to them, and come back as themselves.
  int64: [-(2 ** 63), 2 ** 63],
}

const WORDS = ['', 'a', 'orders', '__consumer_offsets', 'größe', '日本', '🜁', 'x'.repeat(200)]

/** A value of a type, without the modifiers of a field. */
export function randomValue(type: Type, version: number, random: Random): unknown {
  switch (type.kind) {
    case 'bool':
      return random.chance(0.5)
    case 'bigint64':
      return random.bytes(8).readBigInt64BE()
    case 'float64':
      return random.pick([0, -1.5, 1e300, 0.1, random.float()])
    case 'string':
      return random.pick(WORDS)
    case 'uuid':
      return random.bytes(16).toString('base64url')
    case 'bytes':
      return random.bytes(random.pick([0, 1, 30, 200]))
    case 'records':
      return random.chance(0.2) ? [] : [random.bytes(random.pick([1, 100, 1000]))]
    case 'array':
      return Array.from({ length: random.below(4) }, () => randomValue(type.of, version, random))
    case 'struct':
      return randomFields(type.fields, version, random)
    default: {
      const [low, high] = LIMITS[type.kind] as readonly [number, number]
      const near = Math.max(low, Math.min(high, random.between(-100, 1000)))
      return random.pick([low, high, 0, near, Math.floor(random.float() * Math.min(high, 2 ** 53))])
    }
  }
}

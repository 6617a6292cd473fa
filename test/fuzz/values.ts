import type { Random } from '../../src/base/random.ts'
import { existsIn, isNullable } from '../../src/protocol/layout.ts'
import type { AnyField, Type } from '../../src/protocol/field.ts'
import { randomBatches } from './batches.ts'

/** Names that mean something to the node under test, so that requests get past the first check. */
export const topics = ['fuzz-a', 'fuzz-b']
export const groups = ['fuzz-group-1', 'fuzz-group-2']

const oddStrings = [
  '',
  '.',
  '..',
  'a/b',
  'x'.repeat(250),
  'x'.repeat(2000),
  '\u0000',
  'ä😀',
  '__consumer_offsets',
  'no-such',
]

function randomString(random: Random, field: string): string {
  if (random.chance(0.6)) {
    if (/topic|^name$|resourceName/i.test(field)) return random.pick(topics)
    if (/group|^key$|coordinatorKeys/i.test(field)) return random.pick(groups)
    if (/protocolType/i.test(field)) return 'consumer'
    if (/protocol|assignor/i.test(field)) return 'range'
  }
  return random.chance(0.7) ? `s${random.below(100)}` : random.pick(oddStrings)
}

const edges = {
  int8: [0, 1, -1, 127, -128],
  int16: [0, 1, -1, 32767, -32768],
  uint16: [0, 1, 65535],
  int32: [0, 1, -1, 2147483647, -2147483648],
  uint32: [0, 1, 4294967295],
  int64: [0, 1, -1, -2, -3, 2 ** 53 - 1, 2 ** 63, -(2 ** 63)],
}

function randomInteger(random: Random, kind: keyof typeof edges, field: string): number {
  // A long wait is legal and would only slow the attack down.
  if (/wait|timeout/i.test(field) && kind === 'int32') return random.below(20)
  if (random.chance(0.3)) return random.pick(edges[kind])
  return random.below(kind === 'int8' || /partition|index/i.test(field) ? 4 : 100)
}

/** A value that the schema allows, with a liking for edges. `depth` bounds nested arrays. */
export function randomValue(random: Random, type: Type, version: number, field = '', depth = 0): unknown {
  switch (type.kind) {
    case 'bool':
      return random.chance(0.5)
    case 'float64':
      return random.pick([0, -1, 1e300, Number.NaN, Number.POSITIVE_INFINITY])
    case 'string':
      return randomString(random, field)
    case 'uuid':
      return random.chance(0.5) ? 'AAAAAAAAAAAAAAAAAAAAAA' : random.bytes(16).toString('base64url')
    case 'bytes':
      return random.bytes(random.below(random.chance(0.1) ? 2000 : 30))
    case 'records':
      return [randomBatches(random)]
    case 'array': {
      const length = random.chance(0.03) ? random.below(200) : random.below(depth > 1 ? 3 : 4)
      return Array.from({ length }, () => randomValue(random, type.of, version, field, depth + 1))
    }
    case 'struct':
      return randomStruct(random, type.fields, version, depth + 1)
    case 'bigint64':
      return BigInt(randomInteger(random, 'int64', field))
    default:
      return randomInteger(random, type.kind, field)
  }
}

export function randomStruct(
  random: Random,
  fields: Readonly<Record<string, AnyField>>,
  version: number,
  depth = 0,
): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  for (const [name, { type, traits }] of Object.entries(fields)) {
    if (!existsIn(traits, version)) continue
    if (traits.optional && random.chance(0.3)) continue
    value[name] =
      isNullable(traits, version) && random.chance(0.15) ? null : randomValue(random, type, version, name, depth)
  }
  return value
}

import type { Random } from '../../src/base/random.ts'
import { apis } from '../../src/protocol/apis.ts'
import { encodeRequest } from '../../src/protocol/codec.ts'
import { structOf } from '../../src/protocol/layout.ts'
import type { AnyApi } from '../../src/protocol/schema.ts'
import { randomStruct } from './values.ts'

/** UnregisterBroker, well said, does what it says: it is left out. */
const all: readonly AnyApi[] = [...apis.values()].filter(({ key }) => key !== 64)
/** Which APIs, in which versions, the attack is about: mostly those that the server says it serves. */
export interface Menu {
  readonly offered: readonly { readonly api: AnyApi; readonly versions: readonly [number, number] }[]
}

export function menuOf(apiVersions: ReadonlyMap<number, readonly [number, number]>): Menu {
  const offered = all.flatMap((api) => {
    const range = apiVersions.get(api.key)
    return range === undefined ? [] : [{ api, versions: [Math.max(range[0], api.versions[0]), range[1]] as const }]
  })
  return { offered }
}

/** A request that keeps to its schema in every byte, though hardly to its sense. */
export function wellFormed(random: Random, { offered }: Menu): Buffer {
  const any = random.pick(all)
  const { api, versions } = random.chance(0.95) ? random.pick(offered) : { api: any, versions: any.versions }
  const version = random.between(versions[0], versions[1])
  const header = { correlationId: random.below(2 ** 31), clientId: random.chance(0.1) ? null : 'fuzz' }
  const body = randomStruct(random, structOf(api.request).fields, version)
  return Buffer.concat(encodeRequest(api, version, header, body))
}

/** A good request with a few bytes changed, removed or added; its length is usually made right again. */
function mutated(random: Random, menu: Menu): Buffer {
  let frame = wellFormed(random, menu)
  const times = random.below(4) + 1
  for (let i = 0; i < times; i++) {
    // Lengths stand near the front more often than not.
    const at = 4 + random.below(random.chance(0.5) ? Math.min(frame.length - 4, 40) : frame.length - 4)
    switch (random.below(5)) {
      case 0:
        frame[at] = random.below(256)
        break
      case 1:
        frame[at] = random.pick([0, 0x7f, 0x80, 0xff])
        break
      case 2:
        frame.fill(0xff, at, Math.min(frame.length, at + 4))
        break
      case 3:
        frame = Buffer.concat([frame.subarray(0, at), frame.subarray(Math.min(frame.length, at + random.below(8) + 1))])
        break
      case 4:
        frame = Buffer.concat([frame.subarray(0, at), random.bytes(random.below(8) + 1), frame.subarray(at)])
        break
    }
    if (frame.length < 8) return frame
  }
  if (random.chance(0.95)) frame.writeInt32BE(frame.length - 4, 0)
  return frame
}

function truncated(random: Random, menu: Menu): Buffer {
  const frame = Buffer.from(wellFormed(random, menu))
  const cut = frame.subarray(0, 4 + random.below(frame.length - 3))
  cut.writeInt32BE(cut.length - 4, 0)
  return cut
}

function noise(random: Random): Buffer {
  const bytes = random.bytes(random.below(300) + 4)
  if (random.chance(0.8)) bytes.writeInt32BE(bytes.length - 4, 0)
  if (random.chance(0.5) && bytes.length >= 8) {
    bytes.writeInt16BE(random.below(95), 4)
    bytes.writeInt16BE(random.below(20), 6)
  }
  return bytes
}

function lyingLength(random: Random, menu: Menu): Buffer {
  const frame = Buffer.from(wellFormed(random, menu))
  frame.writeInt32BE(random.pick([-1, 0, 1, 3, -2147483648, 2147483647, 104857601, frame.length * 2]), 0)
  return frame
}

type InputKind = 'mutated' | 'truncated' | 'noise' | 'lying-length'

const makers: Readonly<Record<InputKind, (random: Random, menu: Menu) => Buffer>> = {
  mutated,
  truncated,
  noise,
  'lying-length': lyingLength,
}

/** One input that is likely to end its connection. */
export function hostileInput(random: Random, menu: Menu): Buffer {
  const roll = random.float()
  const kind: InputKind = roll < 0.7 ? 'mutated' : roll < 0.85 ? 'truncated' : roll < 0.97 ? 'noise' : 'lying-length'
  return makers[kind](random, menu)
}

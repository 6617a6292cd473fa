import { crc32c } from '../../src/base/crc32c.ts'
import type { Random } from '../../src/base/random.ts'
import { makeBatch } from '../support/wire-batch.ts'

/** Where a batch's fields stand, and how long they are: what a mutation aims at. */
const fields: readonly (readonly [at: number, bytes: number])[] = [
  [0, 8], // base offset
  [8, 4], // length
  [12, 4], // leader epoch
  [16, 1], // magic
  [17, 4], // checksum
  [21, 2], // attributes: codec, timestamp type, transactional, control
  [23, 4], // last offset delta
  [27, 8], // base timestamp
  [35, 8], // max timestamp
  [43, 8], // producer id
  [51, 2], // producer epoch
  [53, 4], // base sequence
  [57, 4], // record count
]

/**
 * What a produce request may carry: one good batch, or one with a lie in a field (its checksum made right again in half
 * of the cases, so that the later checks are reached), cut short, doubled, or no batch at all.
 */
export function randomBatches(random: Random): Buffer {
  const count = random.chance(0.1) ? random.below(60) + 1 : random.below(3) + 1
  const records = Array.from({ length: count }, () => ({
    key: random.chance(0.5) ? null : random.bytes(random.below(10)),
    value: random.chance(0.1) ? null : random.bytes(random.below(50)),
  }))
  const sequence = { producerId: random.below(5) - 1, producerEpoch: random.below(3), baseSequence: random.below(20) }
  const batch = random.chance(0.5) ? makeBatch(records) : makeBatch(records, sequence)
  if (random.chance(0.3)) return batch
  const times = random.below(3) + 1
  for (let i = 0; i < times; i++) {
    const [at, bytes] = random.pick(fields)
    const kind = random.below(3)
    for (let j = 0; j < bytes; j++) {
      batch[at + j] = kind === 0 ? random.below(256) : kind === 1 ? 0xff : j === bytes - 1 ? random.below(256) : 0
    }
  }
  if (random.chance(0.3))
    for (let at = 61; at < batch.length; at++) if (random.chance(0.1)) batch[at] = random.below(256)
  if (random.chance(0.5)) batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  if (random.chance(0.15)) return batch.subarray(0, random.below(batch.length))
  if (random.chance(0.1)) return Buffer.concat([batch, batch])
  if (random.chance(0.05)) return random.bytes(random.below(200))
  return batch
}

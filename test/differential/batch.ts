import { gzipSync } from 'node:zlib'
import { crc32c } from '../../src/base/crc32c.ts'
import { makeBatch } from '../support/wire-batch.ts'
import { Later, resolved } from './step.ts'

export interface BatchSpec {
  readonly records: readonly { readonly key: Buffer | null; readonly value: Buffer | null }[]
  readonly timestampMs: number
  /** A number, or what was learned of the server. */
  readonly producerId: unknown
  readonly producerEpoch: unknown
  readonly baseSequence: number
  readonly gzip: boolean
  /** Bytes to set before the checksum is made. */
  readonly set: readonly { readonly at: number; readonly bytes: readonly number[] }[]
  readonly checksum: 'right' | 'wrong'
  /** What follows the batch, or is missing of it. */
  readonly length: 'whole' | 'cut' | 'more' | 'twice' | 'none'
}

const RECORDS_AT = 61

/** One batch as a producer sends it, or one with something wrong in it. */
export class Batch extends Later {
  readonly spec: BatchSpec

  constructor(spec: BatchSpec) {
    super()
    this.spec = spec
  }

  in(memory: ReadonlyMap<string, unknown>): Buffer[] {
    const { spec } = this
    const sequence = {
      producerId: resolved(spec.producerId, memory) as number,
      producerEpoch: resolved(spec.producerEpoch, memory) as number,
      baseSequence: spec.baseSequence,
    }
    const plain = makeBatch([...spec.records], sequence, spec.timestampMs)
    const batch = spec.gzip ? gzipped(plain) : plain
    for (const { at, bytes } of spec.set) Buffer.from(bytes).copy(batch, at)
    batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
    if (spec.checksum === 'wrong') batch.writeUInt32BE((batch.readUInt32BE(17) + 1) % 2 ** 32, 17)
    return this.#ofLength(batch)
  }

  #ofLength(batch: Buffer): Buffer[] {
    switch (this.spec.length) {
      case 'whole':
        return [batch]
      case 'cut':
        return [batch.subarray(0, batch.length - 3)]
      case 'more':
        return [batch, Buffer.alloc(3)]
      case 'twice':
        return [batch, batch]
      case 'none':
        return []
    }
  }
}

function gzipped(batch: Buffer): Buffer {
  const packed = gzipSync(batch.subarray(RECORDS_AT))
  const result = Buffer.concat([batch.subarray(0, RECORDS_AT), packed])
  result.writeInt32BE(result.length - 12, 8)
  result.writeInt16BE(1, 21)
  return result
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compressFrameSync, compressSync as lz4Block } from 'lz4-napi'
import { compressSync as snappyBlock } from 'snappy'
import { MalformedError } from '../../base/bytes.ts'
import { DecompressedTooLargeError } from './codec-errors.ts'
import { compress, decompress } from './codecs.ts'
import { CODECS } from './header.ts'

const COMPRESSING = CODECS.filter((codec) => codec !== 'none')
const text = Buffer.from('a line of a log, again and again; '.repeat(9000))

/** Repetitive and random stretches, so that blocks of every kind occur. */
const anyBytes = fc
  .array(fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.integer({ min: 1, max: 4000 })), { maxLength: 6 })
  .map((parts) => Buffer.concat(parts.map(([bytes, times]) => Buffer.concat(Array(times).fill(Buffer.from(bytes))))))

for (const codec of COMPRESSING) {
  test(`${codec}: what was compressed comes back, within exactly its own size`, () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        assert.deepEqual(decompress(codec, compress(codec, bytes), bytes.length), bytes)
      }),
      { numRuns: 40 },
    )
  })

  test(`${codec}: one byte over the limit is refused`, () => {
    assert.throws(() => decompress(codec, compress(codec, text), text.length - 1), DecompressedTooLargeError)
  })

  test(`${codec}: a bomb is refused without the memory for it`, () => {
    const bomb = compress(codec, Buffer.alloc(64 * 1024 * 1024))
    assert.throws(() => decompress(codec, bomb, 1024 * 1024), DecompressedTooLargeError)
  })

  test(`${codec}: a cut stream, garbage and nothing at all are malformed`, () => {
    const whole = compress(codec, text)
    for (const cut of [1, 4, 9, Math.floor(whole.length / 2), whole.length - 1]) {
      assert.throws(() => decompress(codec, whole.subarray(0, cut), text.length), MalformedError, `cut at ${cut}`)
    }
    assert.throws(() => decompress(codec, Buffer.alloc(0), 100), MalformedError)
    assert.throws(() => decompress(codec, Buffer.alloc(100, 0xee), 100_000), MalformedError)
  })

  test(`${codec}: flipped bits end in malformed or in bytes within the limit`, () => {
    const whole = compress(codec, text)
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const broken = Buffer.from(whole)
        broken[at] = (broken[at] as number) ^ flip
        try {
          assert.ok(decompress(codec, broken, text.length).length <= text.length)
        } catch (error) {
          assert.ok(error instanceof MalformedError, String(error))
        }
      }),
      { numRuns: 300 },
    )
  })

  test(`${codec}: streams one after the other are all read`, () => {
    const two = Buffer.concat([compress(codec, text), compress(codec, Buffer.from('end'))])
    assert.deepEqual(decompress(codec, two, text.length + 3), Buffer.concat([text, Buffer.from('end')]))
    assert.throws(() => decompress(codec, two, text.length + 2), DecompressedTooLargeError)
  })
}

test('snappy: a raw block without framing is read', () => {
  assert.deepEqual(decompress('snappy', snappyBlock(text), text.length), text)
})

test('snappy: what we write is snappy-java framing of 32 KiB blocks', () => {
  const framed = compress('snappy', text)
  assert.equal(framed.toString('latin1', 1, 7), 'SNAPPY')
  const firstBlock = framed.subarray(20, 20 + framed.readInt32BE(16))
  assert.deepEqual(decompress('snappy', firstBlock, 32 * 1024), text.subarray(0, 32 * 1024))
})

test('snappy: a negative block length is malformed', () => {
  const framed = compress('snappy', text)
  framed.writeInt32BE(-5, 16)
  assert.throws(() => decompress('snappy', framed, text.length), MalformedError)
})

test('lz4: frames with block and content checksums are read, and a wrong one is refused', () => {
  const frame = compressFrameSync(text, { contentChecksum: true, blockChecksums: true })
  assert.deepEqual(decompress('lz4', frame, text.length), text)
  const last = frame.length - 1
  frame[last] = (frame[last] as number) ^ 1
  assert.throws(() => decompress('lz4', frame, text.length), MalformedError)
})

/** A frame as librdkafka and lz4's own tool write it: our header, then blocks, an end mark. */
function frameOf(
  flags: number,
  sizeCode: number,
  headerChecksum: number,
  blocks: readonly Buffer[],
  extra = Buffer.alloc(0),
): Buffer {
  const pieces: Buffer[] = [
    Buffer.from([0x04, 0x22, 0x4d, 0x18, flags, sizeCode << 4]),
    extra,
    Buffer.from([headerChecksum]),
  ]
  for (const block of blocks) {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(block.length)
    pieces.push(length, block)
  }
  pieces.push(Buffer.alloc(4))
  return Buffer.concat(pieces)
}

test('lz4: linked blocks see what came before them', () => {
  // Each raw block is compressed with the text before it as its dictionary, which is what "linked" means.
  const half = text.subarray(0, 60_000)
  const rest = text.subarray(60_000, 120_000)
  const blocks = [lz4Block(half).subarray(4), lz4Block(rest, half).subarray(4)]
  const frame = frameOf(0x40, 4, 0xc0, blocks)
  assert.deepEqual(decompress('lz4', frame, 120_000), text.subarray(0, 120_000))
})

test('lz4: a frame that only its block sizes make look large is read', () => {
  // Tiny blocks in a frame of 4 MiB blocks: the cheap bound is far over the limit, the exact size is not.
  const piece = Buffer.from('short')
  const blocks = Array.from({ length: 200 }, () => lz4Block(piece).subarray(4))
  const frame = frameOf(0x60, 7, 0x73, blocks)
  assert.equal(decompress('lz4', frame, 1000).toString(), 'short'.repeat(200))
})

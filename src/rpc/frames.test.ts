import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ProtocolError } from './errors.ts'
import { FrameAssembler } from './frames.ts'

function framed(body: Uint8Array): Buffer {
  const size = Buffer.alloc(4)
  size.writeInt32BE(body.length)
  return Buffer.concat([size, body])
}

test('frames come out whole, however the bytes were cut', () => {
  const bodies = fc.array(fc.uint8Array({ minLength: 4, maxLength: 50 }), { maxLength: 5 })
  fc.assert(
    fc.property(bodies, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (frames, cuts) => {
      const stream = Buffer.concat(frames.map(framed))
      const assembler = new FrameAssembler()
      const out: Buffer[] = []
      for (let at = 0, cut = 0; at < stream.length; cut++) {
        // The next read overwrites the buffer that a chunk is a view of.
        const chunk = Buffer.from(stream.subarray(at, at + (cuts[cut % cuts.length] as number)))
        assembler.add(chunk, (frame) => out.push(frame))
        at += chunk.length
        chunk.fill(0xee)
      }
      assert.deepEqual(
        out.map((frame) => [...frame]),
        frames.map((frame) => [...frame]),
      )
    }),
  )
})

test('a size that cannot be one is refused before anything is allocated', () => {
  for (const size of [-1, 0, 3, 0x7fffffff, 0x48545450]) {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(size)
    assert.throws(() => new FrameAssembler().add(bytes, () => {}), ProtocolError, String(size))
  }
})

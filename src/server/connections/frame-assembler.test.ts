import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FrameAssembler, type FrameSink } from './frame-assembler.ts'

class Collector implements FrameSink {
  readonly frames: Buffer[] = []
  reason: string | null = null
  answer: (bytes: number) => 'take' | 'wait' | { refuse: string } = () => 'take'

  begin(bytes: number) {
    return this.answer(bytes)
  }

  frame(frame: Buffer) {
    this.frames.push(frame)
  }

  broken(reason: string) {
    this.reason = reason
  }
}

function framed(...bodies: Uint8Array[]): Buffer {
  return Buffer.concat(
    bodies.map((body) => {
      const size = Buffer.alloc(4)
      size.writeInt32BE(body.length)
      return Buffer.concat([size, body])
    }),
  )
}

/** As the network does it: one buffer, overwritten by every read. */
function feed(assembler: FrameAssembler, stream: Buffer, cuts: readonly number[]): void {
  const shared = Buffer.alloc(stream.length)
  const ends = [...new Set([...cuts.map((cut) => cut % (stream.length + 1)), stream.length])].sort((a, b) => a - b)
  let start = 0
  for (const end of ends) {
    if (end === start) continue
    stream.copy(shared, 0, start, end)
    assembler.push(shared.subarray(0, end - start))
    shared.fill(0xee)
    start = end
  }
}

const bodies = fc.array(fc.uint8Array({ maxLength: 6000 }), { maxLength: 8 })
const cuts = fc.array(fc.nat(), { maxLength: 20 })

test('whatever the pieces, the frames come out whole, in order, and stay what they were', () => {
  fc.assert(
    fc.property(bodies, cuts, (sent, at) => {
      const sink = new Collector()
      feed(new FrameAssembler(sink), framed(...sent), at)
      assert.deepEqual(
        sink.frames.map((frame) => frame.toString('hex')),
        sent.map((body) => Buffer.from(body).toString('hex')),
      )
    }),
  )
})

test('a sink that makes every frame wait gets them all the same', () => {
  fc.assert(
    fc.property(bodies, cuts, (sent, at) => {
      const sink = new Collector()
      const assembler = new FrameAssembler(sink)
      let asked = 0
      sink.answer = () => (asked++ % 2 === 0 ? 'wait' : 'take')
      feed(assembler, framed(...sent), at)
      while (assembler.waiting) assembler.resume()
      assert.deepEqual(
        sink.frames.map((frame) => frame.toString('hex')),
        sent.map((body) => Buffer.from(body).toString('hex')),
      )
    }),
  )
})

test('a frame that grows beyond its first megabyte is put together right', () => {
  const body = Buffer.alloc(5 * 1024 * 1024 + 17, 'abcdefg')
  const sink = new Collector()
  feed(new FrameAssembler(sink), framed(body), [3, 100, 1_048_580, 3_000_000, 4_194_400])
  assert.equal(sink.frames.length, 1)
  assert.ok((sink.frames[0] as Buffer).equals(body))
})

test('a huge size alone allocates no memory', () => {
  const sink = new Collector()
  const assembler = new FrameAssembler(sink)
  const before = process.memoryUsage().arrayBuffers
  assembler.push(Buffer.from([0x3f, 0xff, 0xff, 0xff, 1]))
  assert.ok(process.memoryUsage().arrayBuffers - before <= 2 * 1024 * 1024)
  assert.ok(assembler.inFrame)
})

test('a negative size and a refused size end the stream with the reason', () => {
  const negative = new Collector()
  new FrameAssembler(negative).push(Buffer.from([0xff, 0xff, 0xff, 0xfe, 9, 9]))
  assert.equal(negative.reason, 'frame size -2 is negative')

  const refused = new Collector()
  refused.answer = (bytes) => ({ refuse: `${bytes} is too much` })
  const assembler = new FrameAssembler(refused)
  assembler.push(framed(Buffer.alloc(10)))
  assembler.push(framed(Buffer.alloc(10)))
  assert.equal(refused.reason, '10 is too much')
  assert.deepEqual(refused.frames, [])
})

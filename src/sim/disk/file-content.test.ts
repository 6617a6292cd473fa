import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FileContent } from './file-content.ts'

const step = fc.oneof(
  fc.record({ write: fc.nat(200_000), bytes: fc.nat(90_000) }),
  fc.record({ truncate: fc.nat(250_000) }),
)

test('whatever is written and cut, every range reads as in a plain buffer', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), fc.nat(250_000), fc.nat(100_000), (steps, from, count) => {
      const content = new FileContent()
      const plain = Buffer.alloc(300_000)
      let length = 0
      steps.forEach((each, i) => {
        if ('write' in each) {
          const bytes = Buffer.alloc(each.bytes, i + 1)
          content.write(bytes, each.write)
          bytes.copy(plain, each.write)
          if (bytes.length > 0) length = Math.max(length, each.write + each.bytes)
        } else {
          content.truncate(each.truncate)
          plain.fill(0, Math.min(length, each.truncate))
          length = each.truncate
        }
      })
      assert.equal(content.length, length)
      const copy = new FileContent()
      copy.replaceBy(content)
      for (const one of [content, copy]) {
        const target = Buffer.alloc(count, 0xee)
        const read = one.read(target, from)
        assert.equal(read, Math.max(0, Math.min(count, length - from)))
        assert.ok(target.subarray(0, read).equals(plain.subarray(from, from + read)))
        assert.ok(target.subarray(read).every((byte) => byte === 0xee))
      }
    }),
    { numRuns: 300 },
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { buildBatch, type RecordToBuild } from './build.ts'
import { CODECS } from './header.ts'
import { RecordsWriter } from './records-writer.ts'

const bytes = fc.option(fc.uint8Array({ maxLength: 300 }))
const record: fc.Arbitrary<RecordToBuild> = fc.record(
  {
    key: bytes,
    value: bytes,
    timestampMs: fc.integer({ min: -1, max: 2 ** 42 }),
    headers: fc.array(fc.record({ key: fc.string({ maxLength: 20 }), value: bytes }), { maxLength: 3 }),
  },
  { requiredKeys: ['key', 'value'] },
)

test('a batch that is written record by record is the one that is built of all', () => {
  const identity = { producerId: 7, producerEpoch: 3, baseSequence: 11 }
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 20 }), fc.nat(400), (records, expectedBytes) => {
      const writer = new RecordsWriter(expectedBytes)
      for (const each of records) writer.append(each)
      for (const codec of CODECS) {
        assert.deepEqual(writer.finish({ codec, ...identity }), buildBatch({ records, codec, ...identity }))
      }
    }),
    { numRuns: 100 },
  )
})

test('what was handed out stays as it was when the batch gets another sequence', () => {
  const writer = new RecordsWriter(10)
  writer.append({ key: null, value: Buffer.from('a record') })
  const first = writer.finish({ producerId: 1, producerEpoch: 0, baseSequence: 5 })
  const copy = Buffer.from(first)
  const second = writer.finish({ producerId: 1, producerEpoch: 1, baseSequence: 0 })
  assert.deepEqual(first, copy)
  assert.notDeepEqual(second, copy)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileOutputFormat, jsonRecord } from './output-format.ts'
import type { PrintedRecord } from './printed-record.ts'

const record: PrintedRecord = {
  topic: 'orders',
  partition: 3,
  offset: 258,
  leaderEpoch: 7,
  timestampMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  attributes: 0x13,
  producerId: 9,
  producerEpoch: 1,
  key: Buffer.from('k1'),
  value: Buffer.from([0xff, 0x00, 0x41]),
  headers: [
    { key: 'a', value: Buffer.from('1') },
    { key: 'b', value: null },
  ],
}

function format(pattern: string): string {
  const compiled = compileOutputFormat(pattern)
  assert.equal(typeof compiled, 'function', String(compiled))
  return (compiled as (record: PrintedRecord, index: number) => Buffer)(record, 1).toString('latin1')
}

const printed: [string, string][] = [
  ['%t/%p@%o %k\\n', 'orders/3@258 k1\n'],
  ['%v', '\xff\x00A'],
  ['%v{hex} %v{base64} %k{base64raw}', 'ff0041 /wBB azE'],
  ['%K %V %T %H', '2 3 6 2'],
  ['%o{hex32}|%o{big16}|%o{little32}', '00000102|\x01\x02|\x02\x01\x00\x00'],
  ['%h{%k=%v;}', 'a=1;b=;'],
  ['%d %d{strftime[%F %T.%L]}', '1767323045006 2026-01-02 03:04:05.006'],
  ['%a{compression} %a{compression;number} %a{transactional-bit}', 'lz4 3 1'],
  ['%e %x %y %i', '7 9 1 1'],
  ['100%% %{%} \\x41\\t\\\\', '100% {} A\t\\'],
]

for (const [pattern, expected] of printed)
  test(`consume --format '${pattern}'`, () => assert.equal(format(pattern), expected))

test('a format with a mistake is refused with what is wrong', () => {
  assert.equal(compileOutputFormat('%q'), 'unknown %q')
  assert.equal(compileOutputFormat('%'), 'the format ends in a lone %')
  assert.equal(compileOutputFormat('\\q'), "unknown escape '\\q'")
  assert.match(String(compileOutputFormat('%v{gzip}')), /hex, base64/)
  assert.match(String(compileOutputFormat('%h')), /needs a format/)
})

test('json keeps text as text and says what is base64', () => {
  assert.deepEqual(JSON.parse(jsonRecord(record)), {
    topic: 'orders',
    partition: 3,
    offset: 258,
    timestampMs: record.timestampMs,
    key: 'k1',
    valueBase64: '/wBB',
    headers: [
      { key: 'a', value: '1' },
      { key: 'b', value: null },
    ],
  })
})

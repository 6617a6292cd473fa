import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileInputFormat, InputFormatError, RecordReader } from './input-format.ts'

/** Reads all of `input`, cut into pieces of `step` bytes. */
function readAll(format: string, input: Buffer, step: number) {
  const reader = compileInputFormat(format)
  assert.ok(reader instanceof RecordReader, String(reader))
  const records: ReturnType<RecordReader['next']>[] = []
  const drain = () => {
    for (let record = reader.next(); record !== null; record = reader.next()) records.push(record)
  }
  for (let at = 0; at < input.length; at += step) {
    reader.push(input.subarray(at, at + step))
    drain()
  }
  reader.end()
  drain()
  return records.map((record) => ({
    key: record?.key?.toString() ?? null,
    value: record?.value?.toString() ?? null,
    ...(record?.topic === null ? {} : { topic: record?.topic }),
    ...(record?.partition === null ? {} : { partition: record?.partition }),
    ...(record?.headers.length === 0 ? {} : { headers: record?.headers.map(({ key, value }) => `${key}=${value}`) }),
  }))
}

const cases: [string, string | Buffer, unknown[]][] = [
  [
    '%v\\n',
    'a\nb\n\nlast',
    [
      { key: null, value: 'a' },
      { key: null, value: 'b' },
      { key: null, value: '' },
      { key: null, value: 'last' },
    ],
  ],
  [
    '%k:%v\\n',
    'k1:v:1\nk2:v2\n',
    [
      { key: 'k1', value: 'v:1' },
      { key: 'k2', value: 'v2' },
    ],
  ],
  ['%t %p %k\\t%v\\n', 'orders 3 k\tv\n', [{ topic: 'orders', partition: 3, key: 'k', value: 'v' }]],
  ['%K{big16}%k%V %v\\n', Buffer.from('\x00\x02ab5 hello\n'), [{ key: 'ab', value: 'hello' }]],
  [
    '%v{3}',
    'abcdef',
    [
      { key: null, value: 'abc' },
      { key: null, value: 'def' },
    ],
  ],
  ['%k{hex} %v{base64}\\n', '6b aGk=\n', [{ key: 'k', value: 'hi' }]],
  ['%H %h{%k=%v;}%v\\n', '2 a=1;b=2;body\n', [{ key: null, value: 'body', headers: ['a=1', 'b=2'] }]],
]

for (const [format, input, expected] of cases) {
  test(`produce --format '${format}'`, () => {
    const bytes = Buffer.from(input)
    for (const step of [1, 2, 7, bytes.length]) assert.deepEqual(readAll(format, bytes, step), expected)
  })
}

test('a format that does not say where a field ends is refused', () => {
  assert.match(String(compileInputFormat('%k%v\\n')), /where %k ends/)
  assert.match(String(compileInputFormat('%h{%k %v;}')), /%H/)
  assert.equal(compileInputFormat('%x'), 'unknown %x')
})

test('input that breaks the format is refused with the number of the record', () => {
  assert.throws(() => readAll('%p %v\\n', Buffer.from('1 a\nx b\n'), 100), {
    name: InputFormatError.name,
    message: /record 2: %p is "x"/,
  })
  assert.throws(() => readAll('%k,%v\\n', Buffer.from('a,b\nc'), 100), /record 2: the input ends/)
})

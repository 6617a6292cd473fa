import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineReader } from './line-reader.ts'

function read(properties: Record<string, string>, ...lines: string[]) {
  const reader = new LineReader(new Map(Object.entries(properties)))
  const text = (bytes: Uint8Array | null) => (bytes === null ? null : String(bytes))
  return lines.map((line) => {
    const { key, value, headers } = reader.read(line)
    return [...headers.map((header) => `${header.key}=${text(header.value)}`), text(key), text(value)]
  })
}

test('lines are values, or headers, key and value', () => {
  assert.deepEqual(read({}, 'a\tb'), [[null, 'a\tb']])
  assert.deepEqual(read({ 'parse.key': 'true', 'key.separator': '::' }, 'k::v::w'), [['k', 'v::w']])
  assert.deepEqual(read({ 'parse.headers': 'true', 'parse.key': 'TRUE' }, 'h:1,i:2\tk\tv'), [['h=1', 'i=2', 'k', 'v']])
  assert.deepEqual(read({ 'parse.key': 'true', 'null.marker': 'NUL' }, 'NUL\tv', 'k\tNUL'), [
    [null, 'v'],
    ['k', null],
  ])
})

test('a line that does not follow is an error, unless errors are to be ignored', () => {
  assert.throws(
    () => read({ 'parse.key': 'true' }, 'a\tb', 'nokey'),
    /No key separator found on line number 2: 'nokey'/,
  )
  assert.deepEqual(read({ 'parse.key': 'true', 'ignore.error': 'true' }, 'nokey'), [[null, 'nokey']])
  assert.throws(
    () => read({ 'parse.headers': 'true' }, 'h\tv'),
    /No header key separator found in pair 'h' on line number 1/,
  )
  assert.throws(() => read({ 'headers.delimiter': ',' }), /headers\.delimiter and headers\.separator may not be equal/)
})

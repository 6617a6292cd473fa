import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseProperties } from './properties.ts'

function asObject(text: string): Record<string, string> {
  return Object.fromEntries(parseProperties(text).map(({ key, value }) => [key, value]))
}

test('comments, blanks and the three separators are read as Java reads them', () => {
  const text = '# a comment\n! another\n\n  node.id = 1\nlog.dirs:/data\nzone west\nempty=\nlone\n'
  assert.deepEqual(asObject(text), { 'node.id': '1', 'log.dirs': '/data', zone: 'west', empty: '', lone: '' })
})

test('values keep their separators and trailing blanks', () => {
  assert.deepEqual(asObject('listeners=PLAINTEXT://:9092,CONTROLLER://:9093 \n'), {
    listeners: 'PLAINTEXT://:9092,CONTROLLER://:9093 ',
  })
})

test('a backslash continues a line and escapes', () => {
  const text = 'a=one,\\\n    two\nb=C:\\\\data\\tx\\u0041\nc\\=d=e\nlast=x\\'
  assert.deepEqual(asObject(text), { a: 'one,two', b: 'C:\\data\txA', 'c=d': 'e', last: 'x' })
})

test('each key knows its line, counted from 1, also after a continued line and with CRLF', () => {
  const lines = parseProperties('a=1\r\nb=2\\\r\n 3\r\nc=4').map(({ key, line }) => `${key}@${line}`)
  assert.deepEqual(lines, ['a@1', 'b@2', 'c@4'])
})

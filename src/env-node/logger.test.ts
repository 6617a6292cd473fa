import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeLogger } from './logger.ts'

test('text is one line with its fields, and quotes what would be misread', () => {
  const lines: string[] = []
  const log = nodeLogger({ format: 'text', write: (line) => lines.push(line) })
  log.info('listening', { host: '0.0.0.0', port: 9092, zone: undefined, note: 'two words' })
  assert.equal(lines.length, 1)
  assert.match(
    lines[0] as string,
    /^\d\d:\d\d:\d\d\.\d{3} info {2}listening host=0\.0\.0\.0 port=9092 note="two words"\n$/,
  )
})

test('colours are for terminals: a file gets none', () => {
  const lines: string[] = []
  const write = (line: string) => lines.push(line)
  nodeLogger({ format: 'text', write, hasColours: false }).error('disk failed')
  nodeLogger({ format: 'text', write, hasColours: true }).error('disk failed')
  assert.match(lines[0] ?? '', /^\S+ error disk failed\n$/)
  assert.ok(lines[1]?.endsWith('\x1b[31merror disk failed\x1b[0m\n'))
})

test('json is one object a line, and the level can be changed at any time', () => {
  const lines: string[] = []
  const log = nodeLogger({ format: 'json', level: 'warn', write: (line) => lines.push(line) })
  log.info('unseen')
  log.error('disk failed', { path: '/x\ny', code: 'EIO' })
  log.level = 'debug'
  log.debug('details')
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    parsed.map(({ time, ...rest }) => ({ ...rest, timed: typeof time === 'string' })),
    [
      { level: 'error', path: '/x\ny', code: 'EIO', msg: 'disk failed', timed: true },
      { level: 'debug', msg: 'details', timed: true },
    ],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Flags } from './flags.ts'

const KINDS = { list: 'switch', topic: 'value', state: 'optional', 'shift-by': 'long', partitions: 'int' } as const

test("flags are read as Kafka's tools read them", () => {
  const flags = new Flags(KINDS, ['--list', 'stray', '--topic', '--odd', '--topic=b', '--state', '--shift-by', '-5'])
  assert.deepEqual(
    [flags.has('list'), flags.values('topic'), flags.has('state'), flags.value('state'), flags.number('shift-by')],
    [true, ['--odd', 'b'], true, undefined, -5],
  )
  assert.equal(new Flags(KINDS, ['--state', 'stable']).value('state'), 'stable')
})

test('what is wrong with a flag is said in their words', () => {
  assert.throws(() => new Flags(KINDS, ['--lis']), /^FlagError: lis is not a recognized option$/)
  assert.throws(() => new Flags(KINDS, ['--topic']), /^FlagError: Option topic requires an argument$/)
  const number = new Flags(KINDS, ['--partitions', 'abc'])
  assert.throws(() => number.number('partitions'), /^FlagError: Cannot parse argument 'abc' of option partitions$/)
  const twice = new Flags(KINDS, ['--topic', 'a', '--topic', 'b'])
  assert.throws(() => twice.value('topic'), /Found multiple arguments for option topic/)
})

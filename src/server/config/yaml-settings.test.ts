import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { flattenYaml } from './yaml-settings.ts'

test('whole names, nested maps and lists say the same', () => {
  const text =
    'node.id: 3\nlog:\n  retention:\n    ms: 1000\n  dirs: [/data]\nlisteners:\n  - A://:1\n  - B://:2\nempty:\n'
  assert.deepEqual(flattenYaml(parse(text)), [
    { key: 'node.id', value: '3' },
    { key: 'log.retention.ms', value: '1000' },
    { key: 'log.dirs', value: '/data' },
    { key: 'listeners', value: 'A://:1,B://:2' },
    { key: 'empty', value: '' },
  ])
})

test('an empty file sets nothing; what is not a map of settings is refused', () => {
  assert.deepEqual(flattenYaml(parse('# nothing\n')), [])
  assert.equal(flattenYaml(parse('- a\n- b\n')), 'the file must hold a map of settings')
  assert.equal(flattenYaml(parse('a:\n  - {b: 1}\n')), 'a must be a list of plain values')
})

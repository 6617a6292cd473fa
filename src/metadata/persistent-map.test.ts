import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PersistentMap } from './persistent-map.ts'

const key = fc.integer({ min: 0, max: 60 }).map((n) => `key-${n}`)
const command = fc.oneof(
  fc.record({ type: fc.constant('set' as const), key, value: fc.integer() }),
  fc.record({ type: fc.constant('delete' as const), key, value: fc.constant(0) }),
)

test('every version of a map stays what it was when it was made', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 120 }), (commands) => {
      let map = PersistentMap.empty<string, number>()
      const model = new Map<string, number>()
      const versions: [PersistentMap<string, number>, Map<string, number>][] = []
      for (const { type, key, value } of commands) {
        map = type === 'set' ? map.set(key, value) : map.delete(key)
        if (type === 'set') model.set(key, value)
        else model.delete(key)
        versions.push([map, new Map(model)])
      }
      for (const [version, expected] of versions) {
        assert.equal(version.size, expected.size)
        assert.deepEqual(new Map(version), expected)
        for (let n = 0; n <= 61; n++) assert.equal(version.get(`key-${n}`), expected.get(`key-${n}`))
      }
    }),
    { numRuns: 200 },
  )
})

test('equal contents are walked in the same order, whatever happened before', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer(), { maxLength: 200 }), fc.array(fc.integer()), (keys, passing) => {
      const build = (order: number[]) => order.reduce((map, n) => map.set(n, n), PersistentMap.empty<number, number>())
      const detour = passing.reduce((map, n) => map.set(n, -1), build(keys))
      const back = passing.reduce((map, n) => (keys.includes(n) ? map.set(n, n) : map.delete(n)), detour)
      assert.deepEqual([...back], [...build(keys.toReversed())])
    }),
  )
})

test('keys whose hashes collide are told apart', () => {
  // 200,000 keys in 2^32 hashes: about five pairs collide, always the same ones.
  const count = 200_000
  let map = PersistentMap.empty<string, number>()
  for (let n = 0; n < count; n++) map = map.set(`topic-${n}`, n)
  assert.equal(map.size, count)
  for (let n = 0; n < count; n += 2) map = map.delete(`topic-${n}`)
  assert.equal(map.size, count / 2)
  for (let n = 0; n < count; n++) assert.equal(map.get(`topic-${n}`), n % 2 === 0 ? undefined : n)
})

test('setting what is there already gives the same map', () => {
  const map = PersistentMap.empty<string, object>().set('a', test)
  assert.equal(map.set('a', test), map)
  assert.equal(map.delete('b'), map)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Placed, type PlanNode, planDrain, planMoves } from './plan.ts'

function nodesIn(zones: string): PlanNode[] {
  return zones.split('').map((zone, index) => ({ nodeId: index + 1, zone, host: `h${index + 1}` }))
}

function placedAs(...rows: number[][]): Placed[] {
  return rows.map((replicas, partition) => ({ topic: 't', partition, replicas }))
}

const applied = (before: readonly Placed[], moves: readonly Placed[]) =>
  before.map((each) => moves.find(({ partition }) => partition === each.partition) ?? each)

test('a node is emptied, and nothing else moves; its copies go where they share no zone, then where there is most room', () => {
  const before = placedAs([1, 2], [2, 3], [3, 4], [4, 2])
  const all = nodesIn('abca')
  const rest = all.filter(({ nodeId }) => nodeId !== 2)
  const moves = planDrain(before, { rest, serving: rest })
  assert.ok(!('replicas' in moves))
  assert.deepEqual(
    moves.map(({ partition, replicas }) => [partition, ...replicas]),
    [
      [0, 1, 3],
      [1, 1, 3],
      [3, 4, 3],
    ],
  )
})

test('a copy that no other node can take is named', () => {
  const before = placedAs([1, 2], [1, 2, 3])
  const rest = nodesIn('abc').filter(({ nodeId }) => nodeId !== 2)
  assert.deepEqual(planDrain(before, { rest, serving: rest }), before[1])
  assert.equal(planMoves(before, nodesIn('ab')), null)
})

test('a new node gets its share, by as few moves as that takes', () => {
  const before = placedAs([1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 2, 3])
  const moves = planMoves(before, nodesIn('abcd')) ?? []
  assert.equal(moves.length, 3)
  for (const { replicas } of moves) assert.ok(replicas.includes(4))
})

test('whatever the partitions, a plan keeps their copies apart and even, and does not move what needs no move', () => {
  const cases = fc.record({
    zones: fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 3, maxLength: 8 }),
    copies: fc.integer({ min: 1, max: 3 }),
    picks: fc.array(fc.array(fc.nat(1000), { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 40 }),
  })
  fc.assert(
    fc.property(cases, ({ zones, copies, picks }) => {
      const nodes = nodesIn(zones.join(''))
      const rows = picks.map((pick) => {
        const ids = nodes.map(({ nodeId }) => nodeId)
        return pick.slice(0, copies).map((at) => ids.splice(at % ids.length, 1)[0] as number)
      })
      const before = placedAs(...rows)
      const after = applied(before, planMoves(before, nodes) ?? [])
      const load = new Map(nodes.map(({ nodeId }) => [nodeId, 0]))
      for (const { replicas } of after) {
        assert.equal(new Set(replicas).size, copies)
        for (const id of replicas) load.set(id, (load.get(id) ?? 0) + 1)
      }
      assert.deepEqual(planMoves(after, nodes), [], 'a plan that was carried out leaves nothing to do')
      if (new Set(zones).size === 1) assert.ok(Math.max(...load.values()) - Math.min(...load.values()) < 2)
    }),
    { numRuns: 100 },
  )
})

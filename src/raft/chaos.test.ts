import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../base/random.ts'
import { Chaos } from './chaos.ts'
import type { Mutations } from './mutations.ts'

const STEPS = 600

/** Throws when a promise is broken, or when the healed cluster does not come to an agreement. */
function run(seed: number, mutations: Mutations = {}, steps = STEPS): Chaos {
  const shape = new Random(seed ^ 0x5eed)
  const voters = shape.pick([1, 2, 3, 3, 3, 3, 5])
  const nodes = Math.max(voters, shape.pick([3, 4, 5]))
  const chaos = new Chaos(seed, { voters, nodes, mutations })
  for (let step = 0; step < steps; step++) chaos.happen()
  chaos.heal()
  const hasLeader = chaos.settle(() => chaos.agreedLeader() !== null)
  assert.ok(hasLeader, `seed ${seed}: nobody leads after healing\n${chaos.dump()}`)
  const before = chaos.invariants.committed.length
  const isSettled = chaos.settle(() => {
    const leader = chaos.agreedLeader()
    if (leader === null) return false
    if (leader.log.endOffset <= before + 1) chaos.produce(leader)
    const end = leader.log.endOffset
    return chaos.nodes.every(({ highWatermark }) => highWatermark === end && end > before)
  })
  assert.ok(isSettled, `seed ${seed}: not all have what was committed after healing\n${chaos.dump()}`)
  return chaos
}

const SEEDS = Number(process.env.MILLRACE_RAFT_SEEDS ?? 1000)

test(`consensus holds in ${SEEDS} random worlds, and each comes to rest when it is healed`, () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    try {
      run(seed)
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
    }
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { ChaosNode } from './nodes.ts'
import { Chaos } from './world.ts'
import type { Mutations } from '../mutations.ts'
import type { ReplicaKey } from '../types.ts'

const STEPS = 600

function worldOf(seed: number, mutations: Mutations = {}): Chaos {
  const shape = new Random(seed ^ 0x5eed)
  const voters = shape.pick([1, 2, 3, 3, 3, 3, 5])
  const nodes = Math.max(voters, shape.pick([3, 4, 5]))
  return new Chaos(seed, { voters, nodes, mutations })
}

function runUnharmed(chaos: Chaos): void {
  chaos.heal()
  const hasLeader = chaos.settle(() => chaos.agreedLeader() !== null)
  assert.ok(hasLeader, `nobody leads after healing\n${chaos.dump()}`)
  const before = chaos.invariants.committed.length
  const isSettled = chaos.settle(() => {
    const leader = chaos.agreedLeader()
    if (leader === null) return false
    if (leader.log.endOffset <= before + 1) chaos.produce(leader)
    const end = leader.log.endOffset
    const isLevel = chaos.nodes.every(({ highWatermark }) => highWatermark === end && end > before)
    return isLevel && chaos.endpointsAreCurrent(leader)
  })
  assert.ok(isSettled, `not all have what was committed after healing\n${chaos.dump()}`)
}

function forEachSeed(count: number, run: (seed: number) => void): void {
  for (let seed = 1; seed <= count; seed++) {
    try {
      run(seed)
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
    }
  }
}

const SEEDS = Number(process.env.MILLRACE_RAFT_SEEDS ?? 1500)

test(`consensus holds in ${SEEDS} random worlds, and each comes to rest when it is healed`, () => {
  forEachSeed(SEEDS, (seed) => {
    const chaos = worldOf(seed)
    for (let step = 0; step < STEPS; step++) chaos.happen()
    runUnharmed(chaos)
  })
})

test('the same seed gives the same world', () => {
  const ends = [1, 2].map(() => {
    const chaos = worldOf(4711)
    for (let step = 0; step < 2000; step++) chaos.happen()
    return `${chaos.steps} ${chaos.random.draws} ${chaos.nowMs}\n${chaos.dump()}`
  })
  assert.equal(ends[0], ends[1])
})

/** Reliability §10: how many seeds at most until it is noticed that a rule is broken. */
const MUTANT_SEEDS_MAX = 3000
const MUTANT_STEPS = 1000

const MUTANTS: readonly (keyof Mutations)[] = [
  'voteNotSynced',
  'voteForgottenAtStart',
  'epochResumed',
  'logNotComparedForVote',
  'oldEpochsCounted',
  'leaderCountsUnflushed',
  'followerAcknowledgesUnflushed',
  'truncatedToHighWatermark',
  'divergenceIgnored',
  'directoryIgnored',
  'changesOverlap',
  'votersKeptOnTruncation',
]

for (const mutant of MUTANTS) {
  test(`it is noticed when a rule is broken: ${mutant}`, (context) => {
    for (let seed = 1; seed <= MUTANT_SEEDS_MAX; seed++) {
      try {
        const chaos = worldOf(seed, { [mutant]: true })
        for (let step = 0; step < MUTANT_STEPS; step++) chaos.happen()
      } catch (error) {
        // The machine's own assertions notice as well as the world's invariants.
        assert.match((error as Error).name, /InvariantError|AssertionError/)
        context.diagnostic(`seed ${seed}: ${(error as Error).message}`)
        return
      }
    }
    assert.fail(`not noticed in ${MUTANT_SEEDS_MAX} seeds`)
  })
}

test('three controllers are replaced one after the other, each with an empty disk (scenario 23)', () => {
  forEachSeed(20, (seed) => {
    const chaos = new Chaos(seed, { voters: 3, nodes: 3 })
    runUnharmed(chaos)
    for (const node of chaos.nodes) {
      const before = node.key
      chaos.crash(node)
      chaos.wipe(node)
      chaos.start(node)
      runUnharmed(chaos)
      // It is back, but votes for nobody: it is another replica.
      assert.equal(leaderOf(chaos).raft?.facts.voters.has(node.key), false)
      change(chaos, 'remove', before)
      change(chaos, 'add', node.key)
      runUnharmed(chaos)
    }
    const { voters } = leaderOf(chaos).raft?.facts ?? {}
    assert.ok(chaos.nodes.every(({ key }) => voters?.has(key) === true && voters.size === 3))
  })
})

test('the last voter that keeps up is not taken away', () => {
  const chaos = new Chaos(1, { voters: 3, nodes: 3 })
  runUnharmed(chaos)
  const leader = leaderOf(chaos)
  const [down, up] = chaos.nodes.filter((node) => node !== leader)
  assert.ok(down !== undefined && up !== undefined)
  chaos.crash(down)
  chaos.settle(() => false, 2500)
  assert.equal(chaos.agreedLeader(), leader)
  chaos.askToChange(leader, 'remove', up.key)
  assert.equal(chaos.answers.at(-1)?.body.errorCode, ErrorCode.REQUEST_TIMED_OUT)
  assert.equal(leader.raft?.facts.voters.size, 3)
})

function leaderOf(chaos: Chaos): ChaosNode {
  const leader = chaos.agreedLeader()
  assert.ok(leader !== null, `nobody leads\n${chaos.dump()}`)
  return leader
}

/** Asks again until it is done: the leader may change, or still be busy. */
function change(chaos: Chaos, what: 'add' | 'remove', key: ReplicaKey): void {
  for (let attempt = 0; attempt < 20; attempt++) {
    const count = chaos.answers.length
    chaos.askToChange(leaderOf(chaos), what, key)
    assert.ok(chaos.settle(() => chaos.answers.length > count))
    const isDone = chaos.answers.at(-1)?.body.errorCode === ErrorCode.NONE
    chaos.settle(() => false, 1000)
    chaos.settle(() => chaos.agreedLeader() !== null)
    if (isDone) return
  }
  assert.fail(`cannot ${what} ${key.id}: ${JSON.stringify(chaos.answers.at(-1))}`)
}

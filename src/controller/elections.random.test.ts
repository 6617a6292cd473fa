import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ReplicationWorld, type WorldOptions } from '../testing/replication-world.ts'

const RESTART = 13
const isRestart = (kind: number) => kind === RESTART || kind === RESTART + 1

type Step = readonly [kind: number, who: number, how: number]

function perform(world: ReplicationWorld, [kind, who, how]: Step): void {
  const node = world.nodes[who % world.nodes.length]
  assert.ok(node)
  switch (kind) {
    case 0:
    case 1:
      return world.produce(node)
    case 2:
      return world.sync(node)
    case 3:
    case 4:
    case 5:
      return world.fetch(node)
    case 6:
      return world.see(node, how % 2 === 0)
    case 7:
      return world.propose(node, (id) => (how >> id) % 2 === 0)
    case 8:
      return world.propose(node, () => false)
    case 9:
    case 10:
      return world.deliver(how)
    case 11:
      return world.crash(node, how)
    case 12:
      return how % 4 === 0 ? world.stopCleanly(node) : world.notice(node)
    case RESTART:
    case RESTART + 1:
      return world.restart(node, how % 8 === 0 ? 'old' : how % 8 === 1 ? 'empty' : 'same', who)
    case 15:
      return world.beat(node, how % 8 === 0)
    case 16:
      if (how % 4 === 0) world.setMinInsync([null, 1, 2, 3][who % 4] ?? null)
      return
    case 17:
      return world.bounce(node, how)
    case 18: {
      const chosen = world.nodes.map(({ id }) => id).filter((id) => (how >> id) % 2 === 0)
      const rotated = [...chosen.slice(who % 3), ...chosen.slice(0, who % 3)]
      return how % 4 === 0 ? world.reassign(null) : world.reassign(rotated)
    }
    default:
      return world.work()
  }
}

const steps = fc.array(fc.tuple(fc.nat(22), fc.nat(60), fc.nat(63)), { minLength: 40, maxLength: 400, size: 'max' })

function search(name: string, options: fc.Arbitrary<WorldOptions>, numRuns: number): void {
  test(name, () => {
    let cleanStarts = 0
    fc.assert(
      fc.property(options, steps, (options, steps) => {
        const world = new ReplicationWorld(options)
        for (const step of steps) perform(world, step)
        world.heal()
        cleanStarts += world.cleanStarts
        // A copy that was taken away may have been the last; else the partition is whole again (H23).
        if (steps.some(([kind, , how]) => isRestart(kind) && how % 8 < 2) || options.relaxed) return
        const { leader, isr, replicas, addingReplicas, removingReplicas } = world.partition
        assert.deepEqual([...addingReplicas, ...removingReplicas], [])
        assert.ok(
          leader >= 0 && isr.length === replicas.length,
          `after healing: leader ${leader}, ${isr} of ${replicas}`,
        )
      }),
      { numRuns, endOnFailure: process.env.MILLRACE_QUICK !== undefined },
    )
    assert.ok(cleanStarts > numRuns / 2, `${cleanStarts} leaders began with something committed`)
  })
}

const minInsyncReplicas = fc.constantFrom(null, 1, 2, 3)
const brokers = fc.constantFrom(1, 2, 3, 4)

search(
  'every leader has all that was committed, whatever dies, restarts or comes late (fsync)',
  fc.record({ brokers, minInsyncReplicas, relaxed: fc.constant(false), unclean: fc.constant(false) }),
  Number(process.env.MILLRACE_RUNS ?? 150),
)
search(
  'what a relaxed or unclean topic loses, it loses only where the metadata says so',
  fc.record({ brokers, minInsyncReplicas, relaxed: fc.boolean(), unclean: fc.boolean() }),
  Number(process.env.MILLRACE_RUNS ?? 150),
)

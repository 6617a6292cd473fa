/** A voter's data folder on another machine: moved there, or copied beside the original. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulate } from '../sim/sim.ts'
import { type Controller, QuorumWorld } from '../testing/quorum-world.ts'

const SEEDS = [1, 2, 3]
const SECOND = 1000

function scenario(name: string, body: (world: QuorumWorld) => Promise<void>): void {
  test(name, async () => {
    for (const seed of SEEDS) {
      await simulate({ seed }, async (sim) => {
        const world = new QuorumWorld(sim)
        await world.grow(3)
        await world.register()
        await body(world)
      })
    }
  })
}

function voterOf(world: QuorumWorld, kind: 'leader' | 'follower'): Controller {
  const { active } = world
  const found = world.controllers.find((each) => (each === active) === (kind === 'leader'))
  assert.ok(found !== undefined)
  return found
}

/** Starts it, and returns what ends it. */
function started(world: QuorumWorld, copy: Controller): { readonly failure: Error | null } {
  const state: { failure: Error | null } = { failure: null }
  copy.options = {
    ...copy.options,
    onFailure: (error) => {
      state.failure = error
      world.sim.after(0, () => copy.kill())
    },
  }
  copy.start().catch(() => {})
  return state
}

function listedHost(world: QuorumWorld, nodeId: number): string | undefined {
  const [up] = world.up
  return up?.quorum.facts.voters.endpointsOf(nodeId)[0]?.host
}

for (const kind of ['leader', 'follower'] as const) {
  scenario(
    `a copy of the folder of a ${kind} that lives is refused, with the reason, and never votes`,
    async (world) => {
      const original = voterOf(world, kind)
      const { active } = world
      const epoch = active?.quorum.epoch
      const copy = world.copyOf(original)
      const state = started(world, copy)
      await world.sim.until(() => state.failure !== null, { withinMs: 10 * SECOND, what: 'the copy ends' })
      assert.match(
        state.failure?.message ?? '',
        new RegExp(`Another process is controller ${original.nodeId} of .* ${original.host}:`),
      )
      assert.equal(world.active, active)
      assert.equal(active?.quorum.epoch, epoch, 'nobody was disturbed')
      assert.equal(listedHost(world, original.nodeId), original.host)
      await world.register()
      await world.level()
    },
  )
}

scenario('a copy has no vote while the original may live, also where no leader is there to say so', async (world) => {
  const original = voterOf(world, 'follower')
  const [other, third] = world.controllers.filter((each) => each !== original) as [Controller, Controller]
  const copy = world.copyOf(original)
  third.kill()
  // The original lives, and reaches nobody; nobody reaches it.
  world.sim.net.isolate(original.machine.host)
  started(world, copy)
  await world.sim.runFor(20 * SECOND)
  assert.equal(other.quorum.isActive, false, 'the vote of the copy would make a majority')
  world.sim.net.heal()
  copy.kill()
  await third.start()
  await world.untilActive(10 * SECOND)
  await world.register()
})

scenario('a folder that was moved is let in by the leader, and counts', async (world) => {
  const original = voterOf(world, 'follower')
  const others = world.controllers.filter((each) => each !== original)
  original.kill()
  const moved = world.copyOf(original)
  world.controllers.splice(world.controllers.indexOf(original), 1, moved)
  await moved.start()
  await world.sim.until(() => listedHost(world, moved.nodeId) === moved.host, {
    withinMs: 10 * SECOND,
    what: 'it is in',
  })
  await world.register()
  // Without it there is no majority.
  others[0]?.kill()
  await world.untilActive(10 * SECOND)
  await world.register()
  await world.level()
})

scenario('the original that comes back after its folder was moved is refused', async (world) => {
  const original = voterOf(world, 'follower')
  original.kill()
  const moved = world.copyOf(original)
  world.controllers.splice(world.controllers.indexOf(original), 1, moved)
  await moved.start()
  await world.sim.until(() => listedHost(world, moved.nodeId) === moved.host, {
    withinMs: 10 * SECOND,
    what: 'it is in',
  })
  await world.register()
  const state = started(world, original)
  await world.sim.until(() => state.failure !== null, { withinMs: 10 * SECOND, what: 'the original ends' })
  await world.register()
})

scenario('an operator may say that a folder was moved, where nobody else can', async (world) => {
  const [first, second, third] = world.controllers as [Controller, Controller, Controller]
  for (const each of [first, second, third]) each.kill()
  world.controllers.splice(0, 3)
  const staticValues = new Map([['controller.quorum.moved', 'true']])
  const moved = world.copyOf(first, { staticValues, join: [{ host: second.host, port: 9093 }] })
  world.controllers.push(moved, second)
  await Promise.all([moved.start(), second.start()])
  await world.untilActive(20 * SECOND)
  await world.register()
})

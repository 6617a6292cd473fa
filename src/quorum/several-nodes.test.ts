import assert from 'node:assert/strict'
import { test } from 'node:test'
import { METADATA_TOPIC } from '../model/ids.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { CONTROLLER_PORT } from '../testing/quorum-node.ts'
import { type Controller, QuorumWorld } from '../testing/quorum-world.ts'
import { NotControllerError } from './errors.ts'

function world(name: string, body: (world: QuorumWorld, sim: Sim) => Promise<void>, seeds = 3): void {
  for (let seed = 1; seed <= seeds; seed++) {
    test(`${name} (seed ${seed})`, async () => {
      await simulate({ seed }, (sim) => body(new QuorumWorld(sim), sim))
    })
  }
}

world('a cluster of one grows to three and five, and shrinks again', async (all, sim) => {
  await all.grow(1)
  // Longer than a leader may be without a majority: the second voter's time begins when it is one.
  await sim.runFor(5000)
  await all.grow(5)
  assert.equal((await all.untilActive(0)).quorum.epoch, 1, 'one leader all the time')
  await all.register()
  await all.level()
  for (const gone of [5, 4, 3, 2]) {
    const { quorum } = await all.untilActive(5000)
    const victim = all.controllers[gone - 1] as Controller
    const request = {
      clusterId: null,
      voterId: gone,
      voterDirectoryId: victim.node?.logs.metaProperties.directoryId as string,
    }
    const { body } = await quorum.answer({ api: 'RemoveRaftVoter', body: request }, 0, 'CONTROLLER')
    assert.equal(body.errorCode, ErrorCode.NONE)
    await all.sim.until(() => all.votersEverywhere(gone - 1), { withinMs: 5000, what: `voter ${gone} is out` })
    await all.register()
  }
  await all.level()
})

world('a leader that is killed is replaced within a second, and what was acknowledged stays', async (all, sim) => {
  await all.grow(3)
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 5; i++) await all.register()
    const leader = await all.untilActive(5000)
    leader.kill()
    const killedMs = sim.nowMs
    await all.untilActive(5000)
    const tookMs = sim.nowMs - killedMs
    // Here a sync takes a millisecond. It is the refused port that tells, no timeout.
    assert.ok(tookMs < 150, `replaced after ${tookMs} ms`)
    await all.register()
    await leader.start()
    await all.level()
  }
})

world('a leader whose host vanishes is replaced', async (all, sim) => {
  await all.grow(3)
  for (let i = 0; i < 5; i++) await all.register()
  const leader = await all.untilActive(5000)
  sim.net.isolate(leader.machine.host)
  const others = all.controllers.filter((each) => each !== leader)
  await sim.until(() => others.some(({ quorum }) => quorum.isActive), { withinMs: 4000, what: 'another one leads' })
  const pending = leader.register(7)
  await assert.rejects(pending, NotControllerError)
  sim.net.heal()
  await all.register()
  await all.level()
  assert.equal(leader.quorum.image.broker(7), undefined)
})

world(
  'what a leader appends in the moment in which it finds that it leads no more is never shown',
  async (all, sim) => {
    await all.grow(3)
    for (let i = 0; i < 3; i++) await all.register()
    const leader = await all.untilActive(5000)
    sim.net.isolate(leader.machine.host)
    leader.machine.pause(6000)
    const others = all.controllers.filter((each) => each !== leader)
    await sim.until(() => others.some(({ quorum }) => quorum.isActive), { withinMs: 4000, what: 'another one leads' })
    await sim.runFor(1500)
    // Its majority is gone for too long by now: the record is the last thing that its epoch gets.
    await assert.rejects(leader.register(7), NotControllerError)
    sim.net.heal()
    for (let i = 0; i < 5; i++) await all.register()
    await all.level()
    assert.equal(leader.quorum.image.broker(7), undefined)
  },
)

world('every controller loses its power at once, again and again', async (all, sim) => {
  await all.grow(3)
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 4; i++) await all.register()
    for (const each of all.controllers) each.losePower()
    await Promise.all(all.controllers.map((each) => each.start()))
    await all.register()
    await all.level()
    await sim.runFor(500)
  }
})

world('a controller with a new disk under its old number is taken in again', async (all) => {
  await all.grow(3)
  for (let i = 0; i < 3; i++) await all.register()
  const follower = all.controllers.find(({ quorum }) => !quorum.isActive) as Controller
  follower.wipe()
  const others = all.controllers.filter((each) => each !== follower)
  follower.options = {
    autoJoin: true,
    join: others.map(({ host }) => ({ host, port: CONTROLLER_PORT })),
  }
  await follower.start()
  const directoryId = follower.node?.logs.metaProperties.directoryId as string
  await all.sim.until(
    () => all.up.every(({ quorum }) => quorum.facts.voters.has({ id: follower.nodeId, directoryId })),
    { withinMs: 10_000, what: 'the new disk votes' },
  )
  await all.register()
  await all.level()
})

world('who was away too long is brought up by a snapshot', async (all, sim) => {
  await all.grow(3)
  const behind = all.controllers.find(({ quorum }) => !quorum.isActive) as Controller
  const observer = all.controller(9, {
    isController: false,
    join: all.controllers.map(({ host }) => ({ host, port: CONTROLLER_PORT })),
  })
  await observer.start()
  await observer.quorum.caughtUp()
  await all.level()
  behind.kill()
  observer.kill()
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 5; j++) await all.register()
    await (await all.untilActive(5000)).quorum.takeSnapshot()
  }
  const startOf = ({ node }: Controller) =>
    node?.logs.get({ topic: METADATA_TOPIC, partition: 0 })?.logStartOffset as number
  const start = startOf(await all.untilActive(5000))
  assert.ok(start > 0)
  await behind.start()
  await observer.start()
  await observer.quorum.caughtUp()
  await all.level()
  assert.ok(startOf(behind) > start && startOf(observer) > start, 'they begin with the newest snapshot')
  await all.register()
  behind.losePower()
  observer.losePower()
  await behind.start()
  await observer.start()
  await sim.runFor(500)
  await all.level()
})

world('a leader that is stopped hands over at once', async (all, sim) => {
  await all.grow(3)
  for (let round = 0; round < 3; round++) {
    await all.register()
    const leader = await all.untilActive(5000)
    const begunMs = sim.nowMs
    await leader.stop()
    await all.untilActive(5000)
    const tookMs = sim.nowMs - begunMs
    assert.ok(tookMs < 200, `handed over in ${tookMs} ms`)
    await leader.start()
    await all.level()
  }
})

world('a voter that comes back at another address says so', async (all) => {
  await all.grow(3)
  const moved = all.controllers.find(({ quorum }) => !quorum.isActive) as Controller
  await moved.stop()
  moved.options = { ...moved.options, port: 9999 }
  await moved.start()
  const portOf = (controller: Controller) => controller.quorum.facts.voters.byId(moved.nodeId)?.endpoints[0]?.port
  await all.sim.until(() => all.up.every((each) => portOf(each) === 9999), {
    withinMs: 10_000,
    what: 'the new address',
  })
})

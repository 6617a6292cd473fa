/**
 * Controllers that come and go while others are cut off or die, and snapshots that reach who was away (scenarios 24, 25).
 * Nothing else of a node is there: what counts is what was acknowledged, and that all show the same.
 */
import assert from 'node:assert/strict'
import { ErrorCode } from '../../src/protocol/errors.ts'
import { NotControllerError } from '../../src/quorum/errors.ts'
import { DATA_FOLDER } from '../../src/sim/cluster/node-config.ts'
import { STEADY_DISK } from '../../src/sim/disk/disk-faults.ts'
import { someMs } from '../../src/sim/faults/fault.ts'
import { scenario } from '../../src/sim/scenario.ts'
import { CONTROLLER_PORT } from '../../src/testing/quorum-node.ts'
import { type Controller, QuorumWorld } from '../../src/testing/quorum-world.ts'

const METADATA_FOLDER = `${DATA_FOLDER}/__cluster_metadata-0`

/** Takes a voter out, on whoever leads; the error code, or null where nobody answers. */
async function remove(all: QuorumWorld, voter: Controller): Promise<number | null> {
  const leader = all.active
  const known = leader?.quorum.facts.voters.byId(voter.nodeId)
  if (leader === null || known === null || known === undefined) return null
  const body = { clusterId: null, voterId: known.voterId, voterDirectoryId: known.voterDirectoryId }
  const answer = leader.quorum.answer({ api: 'RemoveRaftVoter', body }, 0, 'CONTROLLER')
  return Promise.race([
    answer.then(
      ({ body: told }) => told.errorCode,
      () => null,
    ),
    all.sim.runFor(8000).then(() => null),
  ])
}

function joining(all: QuorumWorld, controller: Controller): void {
  const others = all.controllers.filter((other) => other !== controller)
  const join = others.map(({ host }) => ({ host, port: CONTROLLER_PORT }))
  controller.options = { ...controller.options, join, autoJoin: true }
}

/** Something is written and acknowledged, whoever leads by then. */
async function decided(all: QuorumWorld): Promise<void> {
  for (;;) {
    try {
      return await all.register()
    } catch (error) {
      if (!(error instanceof NotControllerError)) throw error
    }
    await all.sim.runFor(50)
  }
}

async function healed(all: QuorumWorld): Promise<void> {
  all.sim.net.heal()
  for (const each of all.controllers) if (!each.machine.isRunning) void each.start()
  const withinMs = 30_000
  await all.sim.until(() => all.up.length === all.controllers.length, { withinMs, what: 'all are up' })
  await decided(all)
  await all.level()
}

// Scenario 24
scenario('voters come and go one after the other while they are cut off and die', { seeds: 60 }, async (sim) => {
  const random = sim.streams.faults
  const all = new QuorumWorld(sim)
  await all.grow(random.pick([3, 4]))
  for (const each of all.controllers) joining(all, each)
  for (let changes = random.between(2, 6); changes > 0; changes--) {
    await decided(all)
    const leader = await all.untilActive(20_000)
    // Also the leader itself, which then leads no more.
    const voter = random.chance(0.4) ? leader : random.pick(all.controllers)
    const trouble = random.pick(all.controllers)
    const struck = sim.runFor(random.float() * 200).then(() => {
      if (random.chance(0.5)) sim.net.isolate(trouble.machine.host)
      else if (trouble.machine.isRunning) trouble.losePower()
    })
    await remove(all, voter)
    await struck
    await sim.runFor(someMs(random, 10, 3000))
    sim.net.heal()
    if (!trouble.machine.isRunning) await trouble.start()
    // Started again it asks for its vote: back to back with its removal, or later.
    if (voter.machine.isRunning) voter.kill()
    await voter.start()
    await all.untilActive(20_000)
  }
  await healed(all)
})

// Scenario 24, the unsafe step
scenario('a voter is not taken out while the rest would have no living majority', { seeds: 20 }, async (sim) => {
  const all = new QuorumWorld(sim)
  await all.grow(3)
  await decided(all)
  const leader = await all.untilActive(5000)
  const [dead, living] = all.controllers.filter((each) => each !== leader) as [Controller, Controller]
  dead.losePower()
  // So long it might still be one that is slow.
  await sim.runFor(1500)
  // Two would be left, of which one is dead.
  const refused = remove(all, living)
  await sim.runFor(3000)
  assert.notEqual(await refused, ErrorCode.NONE)
  assert.equal((await all.untilActive(5000)).quorum.facts.voters.size, 3)
  assert.equal(await remove(all, dead), ErrorCode.NONE, 'the dead one may go')
  joining(all, dead)
  await healed(all)
})

// Scenario 25
scenario(
  'a snapshot on its way is cut off, comes damaged, or is another of the same offset',
  { seeds: 60 },
  async (sim) => {
    const random = sim.streams.faults
    const all = new QuorumWorld(sim)
    const small = String(random.pick([100, 300, 1000]))
    await all.grow(3, { staticValues: new Map([['controller.quorum.fetch.snapshot.max.bytes', small]]) })
    await decided(all)
    await all.level()
    const behind = all.controllers.find(({ quorum }) => !quorum.isActive) as Controller
    behind.kill()
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 6; j++) await decided(all)
      // Each of the two writes its own of the same offset.
      await all.level()
      await Promise.all(all.up.map(({ quorum }) => quorum.takeSnapshot()))
    }
    void behind.start()
    for (let times = random.between(1, 4); times > 0; times--) {
      await sim.runFor(someMs(random, 2, 200))
      await disturb(all, behind)
    }
    await sim.runFor(random.float() * 2000)
    // A leader whose newest snapshot is damaged has no other to give before it writes the next.
    await decided(all)
    await Promise.all(all.up.filter((each) => each !== behind).map(({ quorum }) => quorum.takeSnapshot()))
    await healed(all)
  },
)

// Scenario 25, at the step from one to the other
scenario(
  'a controller dies while it goes over from a log that nobody shares to a snapshot',
  { seeds: 60, disk: { ...STEADY_DISK, syncMs: 5, nameMs: 2 } },
  async (sim) => {
    const random = sim.streams.faults
    const all = new QuorumWorld(sim)
    await all.grow(3)
    await decided(all)
    await all.level()
    const old = await all.untilActive(5000)
    const others = all.controllers.filter((each) => each !== old) as [Controller, Controller]
    // It writes on alone, what nobody will ever commit.
    const cut = sim.net.isolate(old.machine.host)
    for (let i = random.below(20); i > 0; i--) void old.register(5000 + i).catch(() => {})
    await sim.until(() => ![null, old].includes(all.active), { withinMs: 10_000, what: 'another one leads' })
    const leader = all.active as Controller
    for (let i = 0; i < 2; i++) {
      for (let j = random.below(8); j >= 0; j--) await decided(all)
      // The third keeps the whole log.
      await leader.quorum.takeSnapshot()
    }
    const before = old.machine.files(METADATA_FOLDER).filter(isSnapshot).length
    cut.heal()
    const hasName = () => old.machine.files(METADATA_FOLDER).filter(isSnapshot).length > before
    // Where another leads by now, who kept the whole log, there is nothing to go over to.
    const isTime = () => hasName() || all.active !== leader
    await sim.until(isTime, { withinMs: 20_000, everyMs: 0.5, what: 'the snapshot has its name' })
    await sim.runFor(random.float() * 12)
    if (random.chance(0.5)) old.kill()
    else old.losePower()
    // Whoever gave it is away when it comes back.
    if (random.chance(0.7)) {
      leader.kill()
      const third = others.find((each) => each !== leader) as Controller
      if (random.chance(0.3)) third.losePower()
      void old.start()
      await sim.runFor(random.float() * 4000)
      if (!third.machine.isRunning) void third.start()
      await sim.runFor(random.float() * 4000)
    }
    await healed(all)
  },
)

function isSnapshot({ path }: { readonly path: string }): boolean {
  return path.endsWith('.checkpoint') && !path.endsWith('epoch-checkpoint')
}

async function disturb(all: QuorumWorld, behind: Controller): Promise<void> {
  const { sim } = all
  const random = sim.streams.faults
  const leader = all.active
  if (leader === null) return
  const { machine } = leader
  switch (random.below(4)) {
    case 0:
      return sim.net.resetConnections(machine.host, behind.machine.host)
    case 1: {
      const cut = sim.net.cutBetween(machine.host, behind.machine.host)
      return sim.after(someMs(random, 50, 2000), () => cut.heal())
    }
    case 2: {
      const newest = machine
        .files(METADATA_FOLDER)
        .filter(({ path }) => path.endsWith('.checkpoint'))
        .at(-1)
      // Of one of them only: a majority of disks is sound. And of one that has another snapshot to begin with.
      const isSound = leader !== behind && all.controllers.every((each) => each === leader || each.machine.harms === 0)
      if (newest !== undefined && isSound) machine.flipBit(newest.path, random.below(newest.bytes), random.below(8))
      return
    }
    default:
      // The other one leads, and gives its own snapshot from where the first one stopped.
      leader.losePower()
      await sim.runFor(random.float() * 1500)
      await leader.start().catch(() => {})
  }
}

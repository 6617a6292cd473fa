/**
 * One node under load that is killed, loses its power or is stopped at random instants, again and again, also while it
 * starts. Then it is left alone: everything sent must be acknowledged, read by the group and be there, and no client may
 * ever have seen anything a log does not do.
 */
import { fetchOffsets } from '../../src/sim/clients/group-offsets.ts'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { STEADY_DISK } from '../../src/sim/disk/disk-faults.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { Load } from './support/load.ts'

type Crash = 'kill' | 'power' | 'stop'

interface Course {
  readonly durability: 'fsync' | 'relaxed'
  readonly crashes: readonly Crash[]
}

scenario('one node loses nothing to crashes and power cuts', { seeds: 300 }, (sim) =>
  run(sim, { durability: 'fsync', crashes: ['kill', 'power', 'power', 'stop'] }),
)

// In the relaxed mode an ack stands for the page cache, which outlives the process.
scenario('one node in the relaxed mode loses nothing to a dying process', { seeds: 200 }, (sim) =>
  run(sim, { durability: 'relaxed', crashes: ['kill', 'kill', 'stop'] }),
)

async function run(sim: Sim, course: Course): Promise<void> {
  const random = sim.streams.workload
  const cluster = new SimCluster(sim, {
    nodes: 1,
    settings: {
      'offsets.topic.num.partitions': '3',
      'group.initial.rebalance.delay.ms': random.pick(['0', '500']),
    },
  })
  const [node] = cluster.nodes as [SimNode]
  const load = new Load(sim, cluster)
  await load.start({ 'durability.mode': course.durability, 'segment.ms': random.pick(['1000', '604800000']) })

  const untilMs = sim.nowMs + random.between(3000, 30_000)
  while (sim.nowMs < untilMs) {
    await sim.runFor(random.float() * (random.chance(0.3) ? 100 : 3000))
    await crash(sim, node, random.pick(course.crashes))
    if (random.chance(0.2)) await trouble(sim, node)
    // A client that stands still for longer than its session, and goes on as if nothing had been.
    if (random.chance(0.2)) random.pick(load.machines).pause(random.float() * 12_000)
    await sim.runFor(random.float() * 1000)
    node.start()
  }
  sim.net.heal()
  await load.settleAndJudge()
}

// Scenario 57
scenario(
  'who asks for offsets while their coordinator loads is not told that there are none',
  { seeds: 20 },
  async (sim) => {
    const random = sim.streams.workload
    const cluster = new SimCluster(sim, {
      nodes: 1,
      settings: { 'offsets.topic.num.partitions': '1', 'group.initial.rebalance.delay.ms': '0' },
    })
    const [node] = cluster.nodes as [SimNode]
    const load = new Load(sim, cluster)
    await load.start({})
    const { history } = load
    const isKept = () => history.commits.some(({ outcome }) => outcome === 'acked')
    await sim.until(isKept, { withinMs: 20_000, what: 'offsets are kept' })
    const { client } = cluster.client('asker')
    let isOver = false
    const asking = (async () => {
      while (!isOver) {
        await client.tolerate(() => fetchOffsets(client, history, { group: 'billing', topic: 'orders' }, [0, 1, 2]))
        await sim.runFor(random.float() * 4)
      }
    })()
    for (let deaths = 5; deaths > 0; deaths--) {
      await crash(sim, node, random.pick(['kill', 'power', 'stop']))
      node.start()
      await sim.runFor(random.float() * 2000)
    }
    isOver = true
    await sim.within(asking, { withinMs: 60_000, what: 'the last question is answered' })
    await load.settleAndJudge()
  },
)

async function crash(sim: Sim, node: SimNode, kind: Crash): Promise<void> {
  if (kind === 'stop') {
    await sim.within(node.stop(), { withinMs: 60_000, what: 'a clean stop' })
    return
  }
  if (kind === 'power') node.losePower(sim.streams.faults.pick(['any', 'any', 'all', 'none']))
  else node.kill()
}

/** Trouble of other kinds, while the node is down or about to come up. */
async function trouble(sim: Sim, node: SimNode): Promise<void> {
  const random = sim.streams.faults
  const { machine } = node
  switch (random.below(4)) {
    case 0:
      machine.stallDisk(random.float() * 3000)
      return
    case 1:
      // Less than the hour by which a record may be ahead of its broker.
      machine.wallOffsetMs = random.between(-3_000_000, 3_000_000)
      return
    case 2: {
      const { host } = random.pick(sim.machines.filter((other) => other !== machine))
      if (random.chance(0.5)) sim.net.cutLink(host, machine.host)
      if (random.chance(0.5)) sim.net.cutLink(machine.host, host)
      sim.after(random.float() * 3000, () => sim.net.heal())
      return
    }
    default:
      // Up, and down again while it recovers.
      node.start()
      await sim.runFor(random.float() * 50)
      node.kill()
  }
}

/** The checkpoint comes every 5 s, and what was written while one was under way is synced with the next. */
const LOST_AT_MOST_MS = 11_000

// The relaxed mode's bound: a power cut takes the last seconds, and nothing older.
scenario(
  'one node in the relaxed mode loses at most the last seconds to a power cut',
  { seeds: 100, disk: STEADY_DISK },
  async (sim) => {
    const random = sim.streams.workload
    const cluster = new SimCluster(sim, { nodes: 1, settings: { 'offsets.topic.num.partitions': '3' } })
    const [node] = cluster.nodes as [SimNode]
    const load = new Load(sim, cluster, { mayLose: true })
    await load.start({ 'durability.mode': 'relaxed' })
    for (let cuts = random.between(1, 3); cuts > 0; cuts--) {
      await sim.runFor(random.float() * 10_000)
      const mayLoseFrom = load.history.moment()
      await sim.runFor(LOST_AT_MOST_MS)
      load.history.powerCut(mayLoseFrom)
      node.losePower(sim.streams.faults.pick(['any', 'all']))
      await sim.runFor(random.float() * 1000)
      node.start()
    }
    await load.settleAndJudge()
  },
)

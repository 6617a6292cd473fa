/**
 * The lag monitor beside the truth (docs/lag.md): one client alone produces with known timestamps and commits, while
 * retention deletes, leaders and coordinators move and time goes by. Lag in records and in seconds is right to the record,
 * what was lost is known to the record, and no group loses anything that it was not warned of before.
 */
import assert from 'node:assert/strict'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { LagWorld, TOPIC } from './support/lag-world.ts'

const MINUTE_MS = 60_000
const RETENTION_MS = 2 * MINUTE_MS
const GROUPS = ['anna', 'bert', 'carl', 'dora', 'emma']
const SETTINGS = {
  'offsets.topic.num.partitions': '3',
  'log.retention.check.interval.ms': '1000',
}

scenario('lag in seconds and what groups lost are the truth', { seeds: 60 }, async (sim) => {
  const random = sim.streams.workload
  const cluster = new SimCluster(sim, { nodes: 3, settings: { ...SETTINGS, 'offsets.topic.replication.factor': '3' } })
  await cluster.settled()
  const world = new LagWorld(sim, cluster, { partitions: 2, retentionMs: RETENTION_MS })
  await world.create({ 'segment.ms': random.pick(['500', '20000', '604800000']) })
  await fill(world, sim)
  for (const group of GROUPS) await world.commit(group, random.below(world.partitions), 0)
  for (let steps = 12; steps > 0; steps--) {
    const kind = random.below(10)
    if (kind < 3) await fill(world, sim)
    else if (kind < 6) await commitSomewhere(world, sim)
    else if (kind < 9) await sim.runFor(random.float() * MINUTE_MS)
    else await failOne(sim, cluster)
    await world.observe()
    await world.check()
  }
})

async function fill(world: LagWorld, sim: Sim): Promise<void> {
  const random = sim.streams.workload
  for (let batches = random.between(1, 4); batches > 0; batches--) {
    const ages = Array.from({ length: random.between(1, 10) }, () => random.below(random.chance(0.2) ? 30_000 : 100))
    await world.produce(random.below(world.partitions), ages)
    await sim.runFor(random.float() * 2000)
  }
}

async function commitSomewhere(world: LagWorld, sim: Sim): Promise<void> {
  const random = sim.streams.workload
  const partition = random.below(world.partitions)
  const [from, to] = world.range(partition)
  await world.commit(random.pick(GROUPS), partition, random.chance(0.3) ? to : random.between(from, to))
}

/** A node dies, with what it leads and coordinates, and comes back. */
async function failOne(sim: Sim, cluster: SimCluster): Promise<void> {
  const random = sim.streams.faults
  const node = random.pick(cluster.nodes)
  if (random.chance(0.5)) node.kill()
  else await node.stop()
  await sim.runFor(random.float() * 15_000)
  node.start()
  await cluster.settled()
}

scenario('a clock that jumps and stays is warned of an hour before it deletes', { seeds: 10 }, async (sim) => {
  const HOUR_MS = 60 * MINUTE_MS
  const random = sim.streams.workload
  const settings = { ...SETTINGS, 'log.retention.check.interval.ms': '60000' }
  const cluster = new SimCluster(sim, { nodes: 1, settings })
  const [node] = cluster.nodes as [SimNode]
  await cluster.settled()
  const world = new LagWorld(sim, cluster, { partitions: 1, retentionMs: 100 * HOUR_MS })
  await world.create({})
  await fill(world, sim)
  await world.commit('stopped', 0, 0)
  await world.commit('level', 0, world.range(0)[1])
  await world.observe()
  const said: { readonly atMs: number; readonly line: string }[] = []
  const before = sim.logs.onLine
  sim.logs.onLine = (line) => {
    before?.(line)
    if (line.includes(' group=')) said.push({ atMs: sim.nowMs, line })
  }
  const jumpedMs = sim.nowMs
  // Less than the week after which offsets of a group without members expire.
  node.machine.wallOffsetMs += random.between(101, 160) * HOUR_MS
  await sim.runFor(70 * MINUTE_MS)
  const [warning, loss, ...more] = said
  assert.deepEqual(more, [])
  assert.match(warning?.line ?? '', /about to lose .*group=stopped/)
  assert.match(loss?.line ?? '', /were deleted .*group=stopped topic=orders partition=0 from=0 /)
  assert.ok((warning?.atMs ?? 0) - jumpedMs <= 2 * MINUTE_MS, `warned after ${(warning?.atMs ?? 0) - jumpedMs} ms`)
  assert.ok((loss?.atMs ?? 0) - (warning?.atMs ?? 0) >= 55 * MINUTE_MS, 'there was time')
  assert.equal(node.node?.replicas?.hosted.get(TOPIC, 0)?.log?.logStartOffset, world.range(0)[1])
})

/** Bits that flip in what was durable (reliability S3): the replica leads nothing, is fetched anew, and is in sync again. */
import assert from 'node:assert/strict'
import type { Partition } from '../../src/replica/partition.ts'
import { PlainProducer } from '../../src/sim/clients/plain-producer.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { scenario } from '../../src/sim/scenario.ts'
import { ClusterRun } from './support/cluster-run.ts'

const FOLDER = '/data/orders-0'
/** Recovery points are written every few seconds. */
const CHECKPOINTED_MS = 6000

scenario('a follower that finds its log damaged at a start fetches it anew', { seeds: 50 }, async (sim) => {
  const run = await ClusterRun.begin(sim)
  await run.until(() => run.isr.length === 3, 'all are in sync')
  await sim.runFor(CHECKPOINTED_MS)
  const [damaged] = run.followers
  damaged.kill()
  const [log] = logsOf(damaged)
  assert.ok(log !== undefined, 'there is a segment')
  damaged.machine.replaceContent(log, damaged.machine.contentOf(log).subarray(0, 400))
  damaged.start()
  await repaired(run, damaged)
  await run.finish()
})

scenario(
  'a leader that meets damage gives way to one in sync, and fetches its log anew',
  { seeds: 50 },
  async (sim) => {
    const run = await ClusterRun.begin(sim)
    await run.until(() => run.isr.length === 3, 'all are in sync')
    await sim.runFor(CHECKPOINTED_MS)
    const { leader: damaged } = run
    flipBit(run, damaged)
    // What it wrote in this life it has in memory.
    do {
      const { leader } = run
      leader.kill()
      leader.start()
      await run.failedOver(leader)
      await run.until(() => run.isr.length === 3, 'all are in sync')
    } while (run.leader !== damaged)
    // A start that had to look through all of it has met the damage already.
    if (setAside(damaged).length > 0) return await run.finish()
    await readFromStart(damaged)
    await run.failedOver(damaged)
    await repaired(run, damaged)
    await run.finish()
  },
)

scenario('damage where nobody reads is found by looking through the logs, and repaired', { seeds: 30 }, async (sim) => {
  const settings = { 'log.scrub.interval.ms': '5000' }
  const run = await ClusterRun.begin(sim, { settings })
  await run.until(() => run.isr.length === 3, 'all are in sync')
  await sim.runFor(CHECKPOINTED_MS)
  const { followers } = run
  const damaged = sim.streams.faults.pick(followers)
  flipBit(run, damaged)
  await repaired(run, damaged)
  await run.finish()
})

scenario(
  'a fetch for a damaged log arrives when its place has been taken by an empty one, and nobody writes',
  { seeds: 30 },
  async (sim) => {
    const settings = { 'log.scrub.interval.ms': '1000' }
    const run = await ClusterRun.begin(sim, { settings, nodes: 4, controllers: 1, zones: 4 })
    await run.until(() => run.isr.length === 3, 'all are in sync')
    await sim.runFor(CHECKPOINTED_MS)
    const { leader, cluster, load } = run
    const [damaged] = run.followers
    const { client } = cluster.client('gina')
    const last = new PlainProducer({ name: 'gina', topic: 'orders', client, history: load.history, acks: 'leader' })
    // Nobody else writes from now on.
    sim.net.cutLinks(
      load.machines.flatMap(({ host }) => cluster.nodes.map(({ machine }) => [host, machine.host] as const)),
    )
    await sim.runFor(1000)
    // The way to the controller stays open.
    sim.net.holdBack(damaged.machine.host, leader.machine.host, 500 + sim.streams.faults.float() * 4000)
    // The follower is given one record more, and asks for the next: by that it tells that it holds all there is.
    await last.send(0, 1)
    await sim.runFor(sim.streams.faults.float() * 100)
    flipBit(run, damaged)
    await repaired(run, damaged)
    await run.finish()
  },
)

scenario('the only copy in sync stays as it is when it is damaged', { seeds: 20 }, async (sim) => {
  const run = await ClusterRun.begin(sim, { minInsync: 1, nodes: 6, controllers: 3 })
  await run.until(() => run.isr.length === 3, 'all are in sync')
  const { leader, followers } = run
  for (const { machine } of followers) sim.net.cutBetween(leader.machine.host, machine.host)
  await run.until(() => run.isr.length === 1, 'it is alone')
  await sim.runFor(CHECKPOINTED_MS)
  const segments = logsOf(leader)
  leader.kill()
  flipBit(run, leader)
  // Still cut off from the others: they could catch up before the damage shows.
  leader.start()
  await run.until(() => partitionOf(leader) !== undefined, 'its log has been opened')
  if (partitionOf(leader)?.isDamaged === false) await readFromStart(leader)
  assert.equal(partitionOf(leader)?.isDamaged, true)
  await sim.runFor(20_000)
  assert.deepEqual(logsOf(leader), segments)
  assert.equal(run.cluster.leaderOf('orders', 0)?.nodeId, undefined, 'nobody leads without it')
})

function partitionOf({ node }: SimNode): Partition | undefined {
  return node?.replicas?.hosted.get('orders', 0)
}

function logsOf({ machine }: SimNode): string[] {
  return machine.files(FOLDER).flatMap(({ path }) => (path.endsWith('.log') ? [path] : []))
}

/** As a consumer of everything does. */
async function readFromStart(node: SimNode): Promise<void> {
  const log = partitionOf(node)?.log
  assert.ok(log !== null && log !== undefined, 'it is there')
  const limits = { maxBytes: 1000, limitOffset: log.endOffset, atLeastOneBatch: true }
  await assert.rejects(async () => log.read(log.logStartOffset, limits), /CRC|damaged|batch/)
}

/** One bit of a batch that was durable long ago. */
function flipBit(run: ClusterRun, node: SimNode): void {
  const [first] = logsOf(node)
  assert.ok(first !== undefined, 'there is a segment')
  node.machine.flipBit(first, run.sim.streams.faults.between(70, 120))
}

async function repaired(run: ClusterRun, node: SimNode): Promise<void> {
  await run.until(() => (node.node?.replicas?.metrics.replicasRepaired ?? 0) > 0, 'it is fetched anew')
  await run.until(() => run.isr.includes(node.nodeId), 'it is in sync again', 60_000)
  assert.equal(partitionOf(node)?.isOffline, false)
  assert.ok(setAside(node).length > 0, 'what was damaged is kept for a look')
}

function setAside({ machine }: SimNode): { path: string }[] {
  return machine.files('/data').filter(({ path }) => /orders-0\..*-stray\/.*\.log$/.test(path))
}

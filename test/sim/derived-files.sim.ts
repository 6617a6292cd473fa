/**
 * What is derived from the records (indexes, snapshots of producers, epochs, checkpoints) is damaged, emptied, lost, or comes
 * from another partition while its node is down. It changes no answer (scenario 35).
 */
import assert from 'node:assert/strict'
import { fetchOnce } from '../../src/sim/clients/fetching.ts'
import { DATA_FOLDER } from '../../src/sim/cluster/node-config.ts'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { Load } from './support/load.ts'

const KINDS = ['.index', '.index', '.timeindex', '.snapshot', 'leader-epoch-checkpoint']

scenario('damage of what is derived from the records changes no answer of one node', { seeds: 60 }, async (sim) => {
  const random = sim.streams.faults
  const settings = { 'offsets.topic.num.partitions': '1', 'group.initial.rebalance.delay.ms': '0' }
  const cluster = new SimCluster(sim, { nodes: 1, settings })
  const [node] = cluster.nodes as [SimNode]
  const load = new Load(sim, cluster)
  await load.start({
    'segment.ms': random.pick(['700', '604800000']),
    // Many entries: a wrong one leads far astray.
    'index.interval.bytes': random.pick(['0', '512', '4096']),
  })
  for (let times = random.between(1, 2); times > 0; times--) {
    await sim.runFor(random.float() * 2000)
    // A clean stop leaves them all behind, and what it leaves is used without another look at the records.
    if (random.chance(0.7)) await sim.within(node.stop(), { withinMs: 60_000, what: 'a clean stop' })
    else if (random.chance(0.5)) node.kill()
    else node.losePower('any')
    for (let harms = random.between(2, 15); harms > 0; harms--) harm(sim, node)
    node.start()
    // Somebody who reads from the first record on, out of the files.
    load.addReader()
  }
  await load.settleAndJudge()
  await sim.within(anyOffsetIsFound(cluster, load), { withinMs: 60_000, what: 'records are found by their offsets' })
})

/** A reader that begins anywhere is given the record with just that offset: the way to it is what is derived. */
async function anyOffsetIsFound(cluster: SimCluster, { history }: Load): Promise<void> {
  const { client } = cluster.client('seeker')
  for (let times = 0; times < 60; times++) {
    const { partition: name, start, records } = client.random.pick(history.finalReads)
    if (records.length === 0) continue
    const place = {
      topic: 'orders',
      partition: Number(name.split('-')[1]),
      from: start + client.random.below(records.length),
    }
    const { records: found } = await client.persist(() => fetchOnce(client, history, { ...place, maxWaitMs: 100 }))
    assert.equal(found[0]?.offset, place.from, `S9: ${name} is read from ${place.from}`)
  }
}

/** One file, in one way. */
function harm(sim: Sim, { machine }: SimNode): void {
  const random = sim.streams.faults
  const kind = random.pick(KINDS)
  const files = machine
    .files(DATA_FOLDER)
    .filter(({ path, bytes }) => isOfOrders(path) && path.endsWith(kind) && bytes > 0)
  if (files.length === 0) return
  const { path, bytes } = random.pick(files)
  switch (random.below(6)) {
    case 0:
      machine.loseName(path)
      return
    case 1:
      machine.replaceContent(path, Buffer.alloc(0))
      return
    case 2:
      machine.overwrite(path, 0, random.bytes(bytes))
      return
    case 3:
      machine.replaceContent(path, machine.contentOf(random.pick(files).path))
      return
    case 4:
      machine.overwrite(path, random.below(bytes), random.bytes(4))
      return
    default:
      machine.flipBit(path, random.below(bytes), random.below(8))
  }
}

function isOfOrders(path: string): boolean {
  return path.startsWith(`${DATA_FOLDER}/orders-`)
}

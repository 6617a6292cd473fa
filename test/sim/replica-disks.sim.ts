/**
 * What the disks of brokers may do to replicas: be swapped, rolled back, misdirect a write, flip a bit, lose power while they
 * recover (scenarios 29, 34, 36, 37, 39). A replica with less than it promised neither leads nor counts; nothing that was
 * not written is ever served; in the end all copies are whole again.
 */
import { DATA_FOLDER } from '../../src/sim/cluster/node-config.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { batchBytes } from '../../src/protocol/batch/header.ts'
import { batchesOf } from '../../src/protocol/batch/records.ts'
import { someOf } from '../../src/sim/faults/process-faults.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

/** Votes are another matter (`quorum-disks.sim.ts`). */
const APART = { nodes: 6, controllers: 3, zones: 0 }

// Scenario 29
clusterScenario('all nodes lose power at once, again and again, also while they come up', {}, async (run, sim) => {
  const random = sim.streams.faults
  for (let cuts = random.between(2, 6); cuts > 0; cuts--) {
    for (const node of run.cluster.nodes) node.losePower(random.pick(['any', 'any', 'all', 'none']))
    for (const node of run.cluster.nodes) node.start()
    await sim.runFor(random.chance(0.5) ? random.float() * 100 : random.float() * 3000)
  }
})

// Scenario 39
clusterScenario(
  'a replica that has just recovered its tail loses power again, and the others with it',
  {},
  async (run, sim) => {
    const random = sim.streams.faults
    const nodes = someOf(run.cluster.nodes, 3, random)
    for (const node of nodes) node.kill()
    for (let cuts = random.between(1, 4); cuts > 0; cuts--) {
      for (const node of nodes) if (!node.isRunning) node.start()
      // As soon as anything is acknowledged by what was recovered, or before.
      const before = run.acknowledged
      if (random.chance(0.7)) await run.until(() => run.acknowledged > before, 'records are acknowledged again')
      else await sim.runFor(random.float() * 50)
      for (const node of nodes) node.losePower('all')
    }
  },
)

// Scenario 37
clusterScenario(
  'a broker comes back with its disk as it was in an earlier life: it has lost what came since',
  { run: APART },
  async (run, sim) => {
    const random = sim.streams.faults
    const node = random.pick(run.cluster.brokers)
    const image = node.machine.takeImage()
    await sim.runFor(random.float() * 4000)
    if (random.chance(0.5)) node.losePower('any')
    else node.kill()
    await run.forAWhile()
    node.start()
    await run.until(() => node.isServing, 'it lives anew')
    await sim.runFor(random.float() * 8000)
    losePowerOfBrokers(run)
    node.machine.restoreImage(image)
    // The others still count as alive, or nobody does and the eligible ones are all there is.
    if (random.chance(0.5)) await sim.runFor(random.float() * 8000)
    await comeBackAlone(run, node)
  },
)

clusterScenario(
  'a broker comes back with its disk as it was earlier in the same life, when others are in sync without it',
  { run: APART },
  async (run, sim) => {
    const random = sim.streams.faults
    const node = random.pick(run.cluster.brokers)
    const image = node.machine.takeImage()
    await sim.runFor(random.float() * 8000)
    node.losePower('any')
    // Until then nobody can tell it from a broker that crashed (decision 4, "what is left").
    await run.until(() => !counts(run, node), 'enough others are in sync')
    losePowerOfBrokers(run)
    node.machine.restoreImage(image)
    await comeBackAlone(run, node)
  },
)

/** It may not lead: what it lacks has been acknowledged. */
async function comeBackAlone({ cluster, sim }: ClusterRun, node: SimNode): Promise<void> {
  node.start()
  await sim.runFor(sim.streams.faults.float() * 8000)
  for (const other of cluster.brokers) if (other !== node) other.start()
}

function losePowerOfBrokers({ cluster }: ClusterRun): void {
  for (const node of cluster.brokers) node.losePower('any')
}

/** In sync somewhere, or eligible. */
function counts({ cluster }: ClusterRun, { nodeId }: SimNode): boolean {
  const topics = [...(cluster.image?.topicsByName.values() ?? [])]
  const partitions = topics.flatMap((topic) => topic.partitions)
  return partitions.some(({ isr, elr }) => isr.includes(nodeId) || elr.includes(nodeId))
}

// Scenario 36
clusterScenario(
  'two directories of partitions are swapped: both copies are refused, and fetched anew',
  { run: { partitions: 2 } },
  async (run, sim) => {
    const node = sim.streams.faults.pick(run.cluster.nodes)
    const [one, other] = [`${DATA_FOLDER}/orders-0`, `${DATA_FOLDER}/orders-1`]
    const isDurable = (index: number) => (node.node?.replicas?.hosted.get('orders', index)?.log?.durableOffset ?? 0) > 0
    await run.until(() => isDurable(0) && isDurable(1), 'a power cut leaves it both')
    node.losePower('any')
    node.machine.swapNames(one, other)
    node.start()
    run.load.addReader()
    const isSetAside = () => node.machine.files(DATA_FOLDER).some(({ path }) => path.includes('-stray'))
    const isRefused = () => node.hasFailedLogs || isSetAside()
    await run.until(() => node.isServing && isRefused(), 'it refuses what is not where it belongs')
  },
)

clusterScenario(
  'the disks of two nodes are swapped: neither starts, and with their own both are back',
  {},
  async (run, sim) => {
    const pair = someOf(run.cluster.nodes, 2, sim.streams.faults) as [SimNode, SimNode]
    const swap = () => {
      const [one, other] = pair.map(({ machine }) => machine.takeImage())
      if (one !== undefined) pair[1].machine.restoreImage(one)
      if (other !== undefined) pair[0].machine.restoreImage(other)
    }
    for (const node of pair) node.losePower('any')
    swap()
    for (const node of pair) await run.refuses(node, new RegExp(`node ${pair.find((other) => other !== node)?.nodeId}`))
    swap()
  },
)

clusterScenario(
  'a write that was meant for another partition lands in a copy: nobody is given it',
  { run: { partitions: 2, configs: { 'segment.ms': '1000' } } },
  async (run, sim) => {
    const random = sim.streams.faults
    const node = random.pick(run.cluster.nodes)
    await sim.runFor(2000 + random.float() * 2000)
    const files = node.machine.files(DATA_FOLDER).filter(({ path, bytes }) => IS_RECORDS.test(path) && bytes > 0)
    // What was synced longer ago is known to have been.
    await sim.runFor(6000)
    const [from, to] = [random.pick(files.filter(isOf('orders-1'))), random.pick(files.filter(isOf('orders-0')))]
    const [foreign, own] = [from, to].map(({ path, bytes }) => node.machine.contentOf(path).subarray(0, bytes))
    if (foreign === undefined || own === undefined) return
    const batch = random.pick([...batchesOf(foreign)])
    const bytes = foreign.subarray(batch, batch + batchBytes(foreign, batch))
    const at = random.pick([...batchesOf(own)])
    if (random.chance(0.5)) node.kill()
    node.machine.overwrite(to.path, at, bytes.subarray(0, own.length - at))
    if (!node.isRunning) node.start()
    run.load.addReader()
    await sim.runFor(3000)
    await run.replaceDisk(node)
  },
)

const IS_RECORDS = /\/orders-\d\/\d+\.log$/

function isOf(directory: string) {
  return ({ path }: { path: string }) => path.includes(`/${directory}/`)
}

/**
 * Disks of a cluster's nodes that fail at a sync, are full, read-only or out of descriptors, or change a bit (scenarios 31,
 * 32, 34, 40). The node with the disk may refuse, and may end; the others go on, and nothing is lost or made up.
 */
import { DATA_FOLDER } from '../../src/sim/cluster/node-config.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import type { DiskOperation } from '../../src/sim/disk/disk-work.ts'
import { someMs } from '../../src/sim/faults/fault.ts'
import { batchBytes } from '../../src/protocol/batch/header.ts'
import { batchesOf } from '../../src/protocol/batch/records.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

/** What is synced, by the ends of their paths while they are written: records, indexes, votes, snapshots, checkpoints. */
const SYNCED = ['orders-0/00000000000000000000.log', 'metadata-0/00000000000000000000.log', 'index', 'quorum-state.tmp']
const SYNCED_TOO = ['.part', '.checkpoint.tmp', '-checkpoint.tmp', 'partition.metadata', '']
const OFTEN = { 'metadata.log.max.record.bytes.between.snapshots': '1000' }

// Scenario 31
clusterScenario(
  'a sync fails once and the next one seems to work: what it covered is not taken for safe',
  { seeds: 60, run: { settings: OFTEN, configs: { 'segment.ms': '500' } } },
  async (run, sim) => {
    const random = sim.streams.faults
    for (let times = random.between(1, 3); times > 0; times--) {
      const node = random.pick(run.cluster.nodes)
      const operation = random.pick<DiskOperation>(['sync', 'sync', 'sync', 'syncDirectory'])
      const pathEnd = operation === 'sync' ? random.pick([...SYNCED, ...SYNCED_TOO]) : ''
      node.machine.failDisk({ operation, pathEnd, code: 'EIO' })
      await run.operator.createTopic(`topic-${times}`, 3)
      await run.forAWhile()
      node.machine.diskState.faults.clear()
      // Only the power shows what the kernel had dropped.
      node.losePower('all')
      node.start()
      await run.until(() => run.cluster.activeController !== null, 'somebody decides')
    }
  },
)

// Scenario 32
clusterScenario('disks are full for a while: of one node, of all', { seeds: 60 }, async (run, sim) => {
  const random = sim.streams.faults
  const one = random.pick([run.leader, run.followers[0], run.cluster.activeController ?? run.leader])
  const full = random.chance(0.3) ? run.cluster.nodes : [one]
  for (const { machine } of full) machine.leaveRoom(random.below(20_000))
  if (full.length === 1) await acknowledging(run, 'the others have room')
  await sim.runFor(someMs(random, 100, 10_000))
  for (const { machine } of full) machine.leaveRoom(Number.POSITIVE_INFINITY)
  await acknowledging(run, 'it goes on by itself, nobody was started again')
})

// Scenario 40
clusterScenario(
  'a disk is read-only, or the descriptors are used up: the others serve',
  { seeds: 40 },
  async (run, sim) => {
    const random = sim.streams.faults
    const node = random.pick(run.cluster.nodes)
    const { machine } = node
    if (random.chance(0.5)) {
      for (const operation of CHANGES) machine.failDisk({ operation, code: 'EROFS', times: Number.POSITIVE_INFINITY })
    } else machine.diskState.openFilesMax = random.below(20)
    await sim.runFor(someMs(random, 500, 8000))
    await acknowledging(run, 'the others serve')
    machine.diskState.faults.clear()
    machine.diskState.openFilesMax = Number.POSITIVE_INFINITY
    // Its operator has mounted it again.
    node.kill()
    node.start()
  },
)

const CHANGES: readonly DiskOperation[] = ['write', 'truncate', 'name', 'remove', 'sync']

async function acknowledging(run: ClusterRun, what: string): Promise<void> {
  const before = run.acknowledged
  await run.until(() => run.acknowledged > before, what, 30_000)
}

/** Damage of what is not below a checkpoint yet cannot be told from a write that a power cut has torn. */
const CHECKPOINTED_WITHIN_MS = 6000

// Scenario 34
clusterScenario(
  'a bit flips in what a copy has held for long: nobody is given it, and no other copy takes it over',
  { seeds: 60, run: { configs: { 'segment.ms': '1000' } } },
  async (run, sim) => {
    const random = sim.streams.faults
    const node = random.chance(0.5) ? run.leader : random.pick(run.followers)
    await sim.runFor(random.float() * 3000)
    const files = recordFiles(node)
    await sim.runFor(CHECKPOINTED_WITHIN_MS)
    const isDown = random.chance(0.5)
    if (isDown) node.kill()
    flipOneBit(run, node, random.pick(files))
    if (isDown) node.start()
    run.load.addReader()
    await acknowledging(run, 'records are acknowledged')
    await sim.runFor(3000)
    await run.replaceDisk(node)
  },
)

type RecordFile = ReturnType<SimNode['machine']['files']>[number]

function recordFiles({ machine }: SimNode): RecordFile[] {
  return machine.files(DATA_FOLDER).filter(({ path, bytes }) => /\/orders-0\/\d+\.log$/.test(path) && bytes > 0)
}

/** In what is synced of the file: in a record, or in a header, where the checksum covers least. */
function flipOneBit({ sim }: ClusterRun, { machine }: SimNode, { path, bytes }: RecordFile): void {
  const random = sim.streams.faults
  const content = machine.contentOf(path).subarray(0, bytes)
  const at = random.pick([...batchesOf(content)])
  const within = random.pick([random.below(batchBytes(content, at)), random.below(61), random.below(16)])
  machine.flipBit(path, Math.min(at + within, bytes - 1), random.below(8))
}

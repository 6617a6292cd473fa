/**
 * One node on a disk that fails: syncs that fail once and then seem to work, writes and reads that fail, a disk that is
 * full for a while, no descriptors left. The node may refuse, and it may stop; started again on a sound disk it must have
 * everything it ever acknowledged.
 */
import type { DiskFault } from '../../src/sim/disk/disk-faults.ts'
import { SimCluster, type SimNode } from '../../src/sim/cluster.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { Load } from './support/load.ts'

const RESTART_AFTER_MS = 200

scenario('one node on a failing disk refuses rather than loses', { seeds: 200 }, async (sim) => {
  const random = sim.streams.workload
  const cluster = new SimCluster(sim, {
    brokers: 1,
    settings: { 'offsets.topic.num.partitions': '3', 'group.initial.rebalance.delay.ms': '0' },
    // As a service manager would.
    onGivenUp: (node) => sim.after(RESTART_AFTER_MS, () => startUnlessRunning(node)),
  })
  const [node] = cluster.nodes as [SimNode]
  const load = new Load(sim, cluster)
  await load.start({ 'segment.ms': random.pick(['500', '604800000']) })

  for (let round = random.between(2, 6); round > 0; round--) {
    await sim.runFor(random.float() * 2000)
    await breakDisk(sim, node)
    node.machine.diskState.faults.clear()
    if (random.chance(0.5)) node.kill()
    else node.losePower(random.pick(['any', 'all', 'none']))
    await sim.runFor(random.float() * 500)
    startUnlessRunning(node)
  }
  await load.settleAndJudge()
})

function startUnlessRunning(node: SimNode): void {
  if (!node.isRunning) node.start()
}

const FAILURES: readonly DiskFault[] = [
  { operation: 'sync', code: 'EIO' },
  { operation: 'sync', pathEnd: '.log', code: 'EIO' },
  { operation: 'syncDirectory', code: 'EIO' },
  { operation: 'write', code: 'EIO' },
  { operation: 'write', pathEnd: '.log', code: 'EIO' },
  { operation: 'read', code: 'EIO' },
  { operation: 'name', code: 'EIO' },
  { operation: 'open', code: 'EIO' },
]

/** Breaks the disk in one way, lets the node live with it for a while, and makes it sound again. */
async function breakDisk(sim: Sim, { machine }: SimNode): Promise<void> {
  const random = sim.streams.faults
  const forMs = random.float() * 3000
  switch (random.below(3)) {
    case 0: {
      machine.failDisk({ ...random.pick(FAILURES), times: random.pick([1, 1, 3, 1000]) })
      await sim.runFor(forMs)
      return
    }
    case 1:
      machine.leaveRoom(random.below(20_000))
      await sim.runFor(forMs)
      machine.leaveRoom(Number.POSITIVE_INFINITY)
      return
    default:
      machine.diskState.openFilesMax = random.below(30)
      await sim.runFor(forMs)
      machine.diskState.openFilesMax = Number.POSITIVE_INFINITY
  }
}

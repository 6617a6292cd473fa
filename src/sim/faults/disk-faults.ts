import type { DiskFault } from '../disk/disk-faults.ts'
import { anyNode, type FaultFamily, someMs } from './fault.ts'

const stall: FaultFamily = {
  name: 'stalled disk',
  strike(world, random) {
    anyNode(world, random).machine.stallDisk(someMs(random, 50, 15_000))
  },
}

/** Syncs that fail once and then seem to work; writes and reads that fail. The node gives up and is started again. */
const failure: FaultFamily = {
  name: 'failing disk',
  strike(world, random) {
    const { machine } = anyNode(world, random)
    machine.failDisk({ ...random.pick(FAILURES), times: random.pick([1, 1, 1, 3]) })
    world.sim.after(someMs(random, 50, 5000), () => machine.diskState.faults.clear())
  },
}

const FAILURES: readonly DiskFault[] = [
  { operation: 'sync', code: 'EIO' },
  { operation: 'sync', pathEnd: '.log', code: 'EIO' },
  { operation: 'syncDirectory', code: 'EIO' },
  { operation: 'write', code: 'EIO' },
  { operation: 'write', pathEnd: '.log', code: 'EIO' },
  { operation: 'read', pathEnd: '.log', code: 'EIO' },
]

const full: FaultFamily = {
  name: 'full disk',
  strike(world, random) {
    const { machine } = anyNode(world, random)
    machine.leaveRoom(random.below(20_000))
    world.sim.after(someMs(random, 100, 10_000), () => machine.leaveRoom(Number.POSITIVE_INFINITY))
  },
}

const descriptors: FaultFamily = {
  name: 'no descriptors',
  strike(world, random) {
    const { diskState } = anyNode(world, random).machine
    diskState.openFilesMax = random.below(30)
    world.sim.after(someMs(random, 100, 5000), () => {
      diskState.openFilesMax = Number.POSITIVE_INFINITY
    })
  },
}

export const DISK_FAULTS: readonly FaultFamily[] = [stall, failure, full, descriptors]

import { DiskError } from '../../env/disk.ts'
import type { SimNode } from '../cluster/sim-node.ts'
import type { Sim } from '../sim.ts'

const RESTART_AFTER_MS = 200

/** Starts a node that gave up because of its disk again, as a service manager would. Anything else is a bug. */
export function restartWhereDiskFailed(sim: Sim): (node: SimNode, error: unknown) => void {
  return (node, error) => {
    if (!isOfDisk(error)) return sim.scheduler.fail(error)
    sim.after(RESTART_AFTER_MS, () => {
      if (!node.isRunning) node.start()
    })
  }
}

function isOfDisk(error: unknown): boolean {
  if (error instanceof DiskError) return true
  return error instanceof Error && error.cause !== undefined && isOfDisk(error.cause)
}

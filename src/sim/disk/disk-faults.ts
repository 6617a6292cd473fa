import { DiskError } from '../../env/disk.ts'
import type { DiskOperation } from './disk-work.ts'

/** How a disk behaves on an ordinary day. */
export interface DiskProfile {
  readonly readMs: number
  readonly writeMs: number
  readonly syncMs: number
  /** Everything that changes or looks up names. */
  readonly nameMs: number
  /** Share of operations that take many times as long. */
  readonly tailChance: number
  /** Share of operations that fail with EIO. Zero within the limits of the promise, for a node without a replica. */
  readonly readErrorChance: number
  readonly syncErrorChance: number
}

export const STEADY_DISK: DiskProfile = {
  readMs: 0.1,
  writeMs: 0.05,
  syncMs: 1,
  nameMs: 0.05,
  tailChance: 0,
  readErrorChance: 0,
  syncErrorChance: 0,
}

/** The next operations that match fail. */
export interface DiskFault {
  readonly operation: DiskOperation
  /** Only on paths that end so; default any. */
  readonly pathEnd?: string
  readonly code: string
  /** How many times; default once. */
  times?: number
}

/** Faults that a scenario has ordered. */
export class DiskFaults {
  #faults: DiskFault[] = []

  add(fault: DiskFault): void {
    this.#faults.push({ ...fault, times: fault.times ?? 1 })
  }

  clear(): void {
    this.#faults = []
  }

  /** The error that this operation meets, or null. Counts it. */
  take(operation: DiskOperation, path: string): DiskError | null {
    const fault = this.#faults.find((each) => each.operation === operation && path.endsWith(each.pathEnd ?? ''))
    if (fault === undefined) return null
    fault.times = (fault.times as number) - 1
    if (fault.times <= 0) this.#faults = this.#faults.filter((each) => each !== fault)
    return new DiskError(fault.code, path, `${fault.code}: ${operation} of ${path}`)
  }
}

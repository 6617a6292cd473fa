import type { Env } from '../env/env.ts'
import type { IndexCache } from './index-cache.ts'
import type { LogState } from './log-state.ts'
import type { OpenFiles } from './open-files.ts'
import type { SpaceGuard } from './space-guard.ts'
import type { TailBudget } from './tail-budget.ts'

/** What all logs of one data folder share. */
export interface StorageContext {
  readonly env: Env
  readonly folder: string
  readonly files: OpenFiles
  readonly indexes: IndexCache
  readonly tails: TailBudget
  readonly space: SpaceGuard
  /** The log has something that the next checkpoint should cover. Cheap; called after every sync. */
  changed(log: LogState): void
  /** A segment was closed, or the config has changed: there may be something to compact. Cheap. */
  mayCompact(log: LogState): void
  /** The log is about to be cut at `offset`; resolves when it is durable that nothing beyond it was compacted. */
  uncleanFrom(log: LogState, offset: number): Promise<void>
  /** Makes the names in the folder durable. */
  syncFolder(): Promise<void>
  /** Writes the recovery points of all logs as they are now; resolves when they are durable. */
  checkpointRecoveryPoints(): Promise<void>
  /** The same for the start offsets. */
  checkpointStartOffsets(): Promise<void>
  /** Removes the file after `delayMs`, in the background. */
  removeLater(path: string, delayMs: number): void
  /** In [0, limit]. */
  randomBelow(limit: number): number
}

import type { Clock, Timers } from './clock.ts'
import type { Disk } from './disk.ts'
import type { Logger } from './logger.ts'
import type { Net } from './net.ts'

/**
 * The world as one node incarnation sees it. Production hands in the real one, the simulator its own. A crashed
 * incarnation's environment goes silent: its timers do not fire, its promises never settle.
 */
export interface Env {
  readonly clock: Clock
  readonly timers: Timers
  readonly net: Net
  readonly disk: Disk
  readonly log: Logger
  /** Fresh unpredictable bytes: ids, salts. From the seed in the simulator. */
  randomBytes(length: number): Buffer
}

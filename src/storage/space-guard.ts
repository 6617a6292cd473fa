import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'

/** While the folder is full, and after appends, the disk is asked this often. */
const LOOK_MS = 1000
/** It is asked earlier once so much was appended. */
const LOOK_BYTES = 8 * 1024 ** 2
/** Free bytes wanted beyond what refuses appends, and beyond twice what waits to be written, before they are taken again. */
const SPARE_BYTES = 1024 ** 2
/** On a small disk no more than this part of it is kept back, whatever the setting says. */
const RESERVE_PART = 1 / 20
/** Sets `reserveBytes`. */
const SETTING = 'log.min.free.bytes'

/**
 * How much of the bytes that are kept back a log may use. `none`: records of clients. `half`: what coordinators write, so
 * that readers can go on committing offsets. `all`: the metadata log, without which nothing could be deleted.
 */
export type ReserveUse = 'none' | 'half' | 'all'

const USES = ['none', 'half', 'all'] as const
/** The part of the reserve that must stay free. */
const FLOOR: Readonly<Record<ReserveUse, number>> = { none: 1, half: 0.5, all: 0 }

/** A log whose write found no room. */
export interface SpaceWaiter {
  /** Bytes it wants to write. */
  readonly unwrittenBytes: number
  readonly reserveUse: ReserveUse
  /** There is room again, as far as one can tell: try. */
  resume(): void
}

export interface SpaceGuardOptions {
  readonly folder: string
  /** Kept free for what the node itself must write: metadata, checkpoints, offsets. 0: nothing; only writes tell that the disk is full. */
  readonly reserveBytes: number
  /** Of all logs: appended, but not in what the disk calls used yet. */
  unwrittenBytes(): number
}

/**
 * The data folder's read-only state (reliability S6). It begins before the disk is full: records of clients are refused
 * when only the reserve is left, so that deletions, and all that a node writes for itself, go on. It begins for a log, and
 * all that may use no more of the reserve, too when a write of it finds no room or no descriptor. It ends by itself.
 */
export class SpaceGuard {
  readonly #env: Env
  readonly #options: SpaceGuardOptions
  readonly #waiters = new Set<SpaceWaiter>()
  #timer: Timer | null = null
  #looking: Promise<void> | null = null
  #isClosed = false
  /** May be appended before the reserve is reached, as the disk last said, less what was appended since. */
  #leftBytes = 0
  #bytesSinceLook = 0
  /** Who may append nothing now, and all before it in `USES`; null: everybody may. */
  #refused: ReserveUse | null = null
  #reason = ''
  /** Called when other logs than before are refused, or none any more. */
  onChange: ((isFull: boolean) => void) | null = null

  constructor(env: Env, options: SpaceGuardOptions) {
    this.#env = env
    this.#options = options
  }

  /** Why a log may append nothing, or null. */
  reasonFor(use: ReserveUse): string | null {
    return this.#refused !== null && USES.indexOf(use) <= USES.indexOf(this.#refused) ? this.#reason : null
  }

  /** A log takes so many bytes into its memory. */
  appended(bytes: number): void {
    if (this.#options.reserveBytes === 0) return
    this.#leftBytes -= bytes
    this.#bytesSinceLook += bytes
    if (this.#leftBytes < 0 && this.#refused === null) {
      this.#refuse('none', `no room in ${this.#options.folder}: what is free is kept for the node itself (${SETTING})`)
    }
    if (this.#leftBytes < 0 || this.#bytesSinceLook >= LOOK_BYTES) void this.look()
    else this.#lookLater()
  }

  /** A write of this log found no room: it is resumed when there is some. */
  wait(waiter: SpaceWaiter, error: Error): void {
    this.#waiters.add(waiter)
    const { folder } = this.#options
    if (this.reasonFor(waiter.reserveUse) === null) {
      this.#refuse(waiter.reserveUse, `no room in ${folder}: ${error.message}`)
    }
    this.#lookLater()
  }

  forget(waiter: SpaceWaiter): void {
    this.#waiters.delete(waiter)
  }

  /** Asks the disk how much room there is. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  #lookLater(): void {
    if (this.#timer !== null || this.#isClosed) return
    this.#timer = this.#env.timers.after(LOOK_MS, () => {
      this.#timer = null
      void this.look()
    })
  }

  async #look(): Promise<void> {
    const { folder, reserveBytes, unwrittenBytes } = this.#options
    this.#bytesSinceLook = 0
    // A disk that does not say counts as full only once a write has found no room.
    const unknown = { freeBytes: this.#waiters.size > 0 ? 0 : Number.MAX_SAFE_INTEGER, totalBytes: 0 }
    const { freeBytes, totalBytes } = await this.#env.disk.space(folder).catch(() => unknown)
    if (this.#isClosed) return
    const reserve = Math.min(reserveBytes, Math.floor(totalBytes * RESERVE_PART))
    // What was appended meanwhile is among the unwritten.
    const left = freeBytes - unwrittenBytes()
    this.#leftBytes = left - reserve * FLOOR.none
    this.#settle(left, reserve, freeBytes)
    if (this.#refused !== null || this.#waiters.size > 0) this.#lookLater()
  }

  #settle(left: number, reserve: number, freeBytes: number): void {
    const wasRefused = this.#refused
    let refused: ReserveUse | null = null
    for (const use of USES) {
      const floor = reserve * FLOOR[use]
      const isRefused = this.reasonFor(use) !== null
      // Who may use everything is refused only where a write found no room.
      if (isRefused ? left < floor + this.#wantedBytes() : left < floor && floor > 0) refused = use
    }
    const { folder } = this.#options
    if (refused !== null) {
      const kept = `${Math.floor(reserve)} are kept for the node itself (${SETTING})`
      this.#refuse(refused, `no room in ${folder}: ${freeBytes} bytes are free, ${kept}`)
    } else if (wasRefused !== null) this.#end()
    for (const waiter of [...this.#waiters]) {
      if (this.reasonFor(waiter.reserveUse) !== null) continue
      this.#waiters.delete(waiter)
      waiter.resume()
    }
  }

  /** Beyond the reserve, before a log that was refused is tried again. */
  #wantedBytes(): number {
    let wanted = SPARE_BYTES
    for (const { unwrittenBytes } of this.#waiters) wanted += unwrittenBytes
    return wanted
  }

  #refuse(use: ReserveUse, reason: string): void {
    const isSame = this.#refused === use
    this.#refused = use
    this.#reason = reason
    if (isSame) return
    this.#env.log.error('Out of space: records are refused until there is room', { reason, refused: use })
    this.onChange?.(true)
  }

  #end(): void {
    this.#refused = null
    this.#env.log.info('There is room again in the data folder')
    this.onChange?.(false)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#timer = null
    this.#waiters.clear()
  }
}

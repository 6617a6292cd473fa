import type { Random } from '../../base/random.ts'
import { DiskError } from '../../env/disk.ts'
import type { Actor } from '../core/actor.ts'
import type { Events } from '../core/events.ts'
import { heavyTailed } from '../core/streams.ts'
import type { DiskFaults, DiskProfile } from './disk-faults.ts'
import type { DiskOperation, DiskWork, DiskWorker } from './disk-work.ts'

/** Of the events: constant names, made once. */
const EVENTS: Readonly<Record<DiskOperation, string>> = {
  open: 'disk open',
  read: 'disk read',
  write: 'disk write',
  sync: 'disk sync',
  truncate: 'disk truncate',
  name: 'disk name',
  remove: 'disk remove',
  syncDirectory: 'disk syncDirectory',
  stat: 'disk stat',
  lock: 'disk lock',
}

/** What one machine's disk is like now; the scenario changes it. */
export interface DiskState {
  profile: DiskProfile
  readonly faults: DiskFaults
  /** Nothing completes before this time. */
  stalledUntilMs: number
  openFilesMax: number
}

/**
 * Every operation takes effect in an event of its own, some time after it was asked for. What is still on its way when the
 * process dies happens, happens in part, or does not.
 */
export class SimDiskWorker implements DiskWorker {
  readonly traced = true
  readonly #events: Events
  readonly #actor: Actor
  readonly #random: Random
  readonly #state: DiskState
  readonly #onItsWay = new Set<DiskWork<unknown>>()

  constructor(events: Events, actor: Actor, random: Random, state: DiskState) {
    this.#events = events
    this.#actor = actor
    this.#random = random
    this.#state = state
  }

  get openFilesMax(): number {
    return this.#state.openFilesMax
  }

  perform<T>(work: DiskWork<T>): Promise<T> {
    this.#onItsWay.add(work)
    return new Promise((resolve, reject) => {
      this.#events.schedule(this.#actor, this.#durationMs(work.kind), EVENTS[work.kind], work.digest, () => {
        this.#onItsWay.delete(work)
        try {
          const error = this.#failure(work)
          if (error) {
            this.#failed(work)
            reject(error)
          } else resolve(work.effect())
        } catch (error) {
          // Only refusals of the file system are answers; anything else is a bug and ends the run.
          if (!(error instanceof DiskError)) throw error
          reject(error)
        }
      })
    })
  }

  /** The process is gone: what it had asked for and not been told of ends somewhere. */
  abandon(): void {
    for (const work of this.#onItsWay) {
      try {
        if (this.#random.chance(0.4)) work.effect()
        else if (this.#random.chance(0.5)) work.partly?.(this.#random.float())
      } catch (error) {
        if (!(error instanceof DiskError)) throw error
      }
    }
    this.#onItsWay.clear()
  }

  #failure({ kind, path }: DiskWork<unknown>): DiskError | null {
    const ordered = this.#state.faults.take(kind, path)
    if (ordered) return ordered
    const { readErrorChance, syncErrorChance } = this.#state.profile
    const chance = kind === 'read' ? readErrorChance : kind === 'sync' ? syncErrorChance : 0
    return chance > 0 && this.#random.chance(chance) ? new DiskError('EIO', path, `EIO: ${kind} of ${path}`) : null
  }

  #failed(work: DiskWork<unknown>): void {
    work.partly?.(this.#random.float())
    work.forget?.()
  }

  #durationMs(kind: DiskOperation): number {
    const { profile, stalledUntilMs } = this.#state
    const ms = heavyTailed(this.#random, typicalMs(kind, profile), profile.tailChance)
    return Math.max(ms, stalledUntilMs - this.#events.nowMs)
  }
}

function typicalMs(kind: DiskOperation, profile: DiskProfile): number {
  switch (kind) {
    case 'read':
      return profile.readMs
    case 'write':
      return profile.writeMs
    case 'sync':
    case 'syncDirectory':
      return profile.syncMs
    default:
      return profile.nameMs
  }
}

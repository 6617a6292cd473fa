import type { Timer } from '../../env/clock.ts'
import type { Env } from '../../env/env.ts'
import type { Address } from '../../env/net.ts'
import { formatAddress } from '../config/listeners.ts'
import type { Role } from '../config/membership-config.ts'
import { readJoined, writeJoined } from './joined-file.ts'

export interface RememberedOptions {
  readonly folder: string
  readonly roles: readonly Role[]
  /** Where the controllers of the cluster are now, this node's own included. */
  controllers(): readonly Address[]
}

/** How soon a change is written down. It matters only to a node that lost its metadata. */
const CHECK_MS = 5000

/**
 * Keeps `joined.properties` true while controllers come and go. A node that began as a cluster of its own gets one as soon as there
 * is another controller: from then on it must never begin again alone, not even without its metadata.
 */
export class RememberedControllers {
  readonly #env: Env
  readonly #options: RememberedOptions
  #written: string | null = null
  #timer: Timer | null = null
  #work: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(env: Env, options: RememberedOptions) {
    this.#env = env
    this.#options = options
  }

  async start(): Promise<void> {
    const joined = await readJoined(this.#env.disk, this.#options.folder)
    this.#written = joined === null ? null : printed(joined.controllers)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isStopped) return
    this.#timer = this.#env.timers.after(CHECK_MS, () => {
      this.#work = this.#check().finally(() => this.#schedule())
    })
  }

  async #check(): Promise<void> {
    const { controllers, folder, roles } = this.#options
    const now = controllers()
    const isAlone = now.length < 2 && this.#written === null
    if (now.length === 0 || isAlone || printed(now) === this.#written) return
    try {
      await writeJoined(this.#env.disk, folder, { roles, controllers: now })
      this.#written = printed(now)
    } catch (error) {
      this.#env.log.warn('Where the controllers are could not be written down', { reason: (error as Error).message })
    }
  }

  /** Resolves when nothing is being written any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#work
  }
}

function printed(controllers: readonly Address[]): string {
  return controllers.map(formatAddress).sort().join(',')
}

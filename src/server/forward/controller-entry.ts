import { sleep } from '../../env/clock.ts'
import type { Env } from '../../env/env.ts'
import { registeredFeatures } from '../../controller/features.ts'
import { newIncarnationId } from '../../model/ids.ts'
import { ControllerRegistration } from '../../protocol/apis/controller-registration.ts'
import { ErrorCode, errorName } from '../../protocol/errors.ts'
import type { Quorum } from '../../quorum/quorum.ts'
import type { Endpoint } from '../../raft/types.ts'
import { ControllerUnavailableError } from '../controller-channel.ts'
import type { ControllerLink } from './controller-link.ts'

/** Between two tries. */
const RETRY_MS = 1000
const PLAINTEXT = 0
/** Level of metadata.version from which on controllers are registered: 3.7-IV0. */
const METADATA_VERSION_MIN = 15

/**
 * Tells the active controller where this controller is reached and which features it can work by (KIP-919), until the metadata
 * say so: without it features could be raised that this node does not know.
 */
export class ControllerEntry {
  readonly #env: Env
  readonly #quorum: Quorum
  readonly #link: ControllerLink
  readonly #endpoints: readonly Endpoint[]
  readonly #incarnationId: string
  #isStopped = false

  constructor(env: Env, parts: { quorum: Quorum; link: ControllerLink; endpoints: readonly Endpoint[] }) {
    this.#env = env
    this.#quorum = parts.quorum
    this.#link = parts.link
    this.#endpoints = parts.endpoints
    this.#incarnationId = newIncarnationId((length) => env.randomBytes(length))
  }

  /** Resolves when the metadata have it, or after `stop`. Rejects when the quorum fails or stops. */
  async register(): Promise<void> {
    await this.#quorum.caughtUp()
    while (!this.#isStopped && !this.#isRegistered && this.#isWanted) {
      await this.#tryRegister()
      if (!this.#isRegistered) await sleep(this.#env.timers, RETRY_MS)
    }
  }

  get #isWanted(): boolean {
    return (this.#quorum.image.features.get('metadata.version') ?? 0) >= METADATA_VERSION_MIN
  }

  get #isRegistered(): boolean {
    return this.#quorum.image.controllers.get(this.#quorum.nodeId)?.incarnationId === this.#incarnationId
  }

  async #tryRegister(): Promise<void> {
    const features = registeredFeatures(true)
    const listeners = this.#endpoints.map((endpoint) => ({ ...endpoint, securityProtocol: PLAINTEXT }))
    const about = { incarnationId: this.#incarnationId, zkMigrationReady: false, listeners, features }
    try {
      const answer = await this.#link.send(ControllerRegistration, { controllerId: this.#quorum.nodeId, ...about })
      if (answer.errorCode === ErrorCode.NONE || this.#isStopped) return
      const reason = answer.errorMessage ?? errorName(answer.errorCode)
      this.#env.log.warn('The registration of this controller was refused', { reason })
    } catch (error) {
      if (!(error instanceof ControllerUnavailableError)) throw error
    }
  }

  stop(): void {
    this.#isStopped = true
  }
}

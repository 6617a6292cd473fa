import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import { type Address, NetError } from '../env/net.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { formatAddress } from './config/listeners.ts'

export interface SuspectsOptions {
  /** As clients are shown it. */
  image(): MetadataImage
  /** Where this node reaches the broker; null when it is not known. */
  addressOf(brokerId: number): Address | null
}

/** Who waits longer gets the old answer: the controller may be dead too, or see the broker alive. */
const DOUBT_MS = 500
const CONNECT_TIMEOUT_MS = 100

/**
 * Brokers whose process seems to have ended a moment ago: a connection to one was lost and its port refuses. Their
 * leaderships are about to move. A client that lost its connection too asks at once who leads now, and many ask again only a second
 * later; so an answer that names a suspect waits for the next image, for a short time.
 */
export class Suspects {
  readonly #env: Env
  readonly #options: SuspectsOptions
  /** Address to the time when the doubt ends. */
  readonly #until = new Map<string, number>()
  readonly #waiting = new Set<() => void>()

  constructor(env: Env, options: SuspectsOptions) {
    this.#env = env
    this.#options = options
  }

  /** A connection to the node at this address broke. */
  lost(address: Address): void {
    const name = formatAddress(address)
    this.#until.set(name, this.#env.clock.monotonicMs() + DOUBT_MS)
    void this.#ask(address).then((isRefused) => {
      if (isRefused) return
      this.#until.delete(name)
      this.imageChanged()
    })
  }

  /** What clients are shown has changed. */
  imageChanged(): void {
    for (const look of [...this.#waiting]) look()
  }

  /**
   * Resolves when none of the brokers that `named` gives is in doubt: asked at each new image. Null when nobody is now, or
   * ever was: most of the time.
   */
  settled(named: () => Iterable<number>): Promise<void> | null {
    if (this.#until.size === 0 || !this.#isInDoubt(named)) return null
    return new Promise((resolve) => {
      let timer: Timer | null = null
      const look = () => {
        if (this.#isInDoubt(named)) return
        this.#waiting.delete(look)
        timer?.cancel()
        resolve()
      }
      this.#waiting.add(look)
      // Doubts end by themselves; one that began meanwhile is not waited for.
      timer = this.#env.timers.after(DOUBT_MS, () => {
        this.#waiting.delete(look)
        resolve()
      })
    })
  }

  #isInDoubt(named: () => Iterable<number>): boolean {
    const nowMs = this.#env.clock.monotonicMs()
    for (const [name, untilMs] of this.#until) if (untilMs <= nowMs) this.#until.delete(name)
    if (this.#until.size === 0) return false
    const { image, addressOf } = this.#options
    for (const brokerId of new Set(named())) {
      const address = image().broker(brokerId)?.fenced === false ? addressOf(brokerId) : null
      if (address !== null && this.#until.has(formatAddress(address))) return true
    }
    return false
  }

  async #ask(address: Address): Promise<boolean> {
    try {
      const connection = await this.#env.net.connect(address, { timeoutMs: CONNECT_TIMEOUT_MS })
      connection.start({ data() {}, drained() {}, closed() {} })
      connection.destroy()
      return false
    } catch (error) {
      if (!(error instanceof NetError)) throw error
      return error.code === 'ECONNREFUSED'
    }
  }
}

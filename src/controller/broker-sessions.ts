import type { MetadataImage } from '../metadata/image.ts'

interface Session {
  /** Or when this controller became active, for a broker that it has not heard yet. */
  lastHeardMs: number
  /** How far the broker has read the metadata log. */
  metadataOffset: number
  /** End of the metadata log when its controlled shutdown began; others must have read so far before it goes. */
  shutdownOffset: number | null
}

/**
 * Which brokers the active controller hears. Not part of the image: it is born with each active controller and lost
 * with it. Times are monotonic milliseconds.
 */
export class BrokerSessions {
  readonly #sessions = new Map<number, Session>()
  #checkedAtMs: number

  /** Every broker that counts as alive gets the whole timeout from now on. */
  constructor(image: MetadataImage, nowMs: number) {
    this.#checkedAtMs = nowMs
    for (const { brokerId, fenced } of image.brokers.values()) {
      if (!fenced) this.#sessions.set(brokerId, newSession(nowMs))
    }
  }

  /** A registration or a heartbeat came. `metadataOffset` is null when it did not say. */
  hear(brokerId: number, nowMs: number, metadataOffset: number | null): void {
    const session = this.#sessions.get(brokerId) ?? newSession(nowMs)
    session.lastHeardMs = nowMs
    if (metadataOffset !== null) session.metadataOffset = metadataOffset
    this.#sessions.set(brokerId, session)
  }

  forget(brokerId: number): void {
    this.#sessions.delete(brokerId)
  }

  /** Another incarnation of a broker that counts as alive must not take its place unproven. */
  isAlive(brokerId: number, nowMs: number, timeoutMs: number): boolean {
    const session = this.#sessions.get(brokerId)
    return session !== undefined && nowMs - session.lastHeardMs < timeoutMs
  }

  beginShutdown(brokerId: number, shutdownOffset: number): void {
    const session = this.#sessions.get(brokerId)
    if (session !== undefined) session.shutdownOffset ??= shutdownOffset
  }

  /** Every other serving broker has read the metadata that moved the leaderships away. */
  mayStop(image: MetadataImage, brokerId: number): boolean {
    const shutdownOffset = this.#sessions.get(brokerId)?.shutdownOffset ?? null
    if (shutdownOffset === null) return true
    for (const { brokerId: other, fenced, inControlledShutdown } of image.brokers.values()) {
      if (other === brokerId || fenced || inControlledShutdown) continue
      if ((this.#sessions.get(other)?.metadataOffset ?? -1) < shutdownOffset) return false
    }
    return true
  }

  /**
   * Serving brokers that were not heard for `timeoutMs`, by id. To be asked several times within a timeout: where half
   * of it passed unasked, it was this process that stood still and heard nobody, so that time counts against no one.
   */
  silent(image: MetadataImage, nowMs: number, timeoutMs: number): number[] {
    const pause = nowMs - this.#checkedAtMs
    this.#checkedAtMs = nowMs
    if (pause > timeoutMs / 2) for (const session of this.#sessions.values()) session.lastHeardMs += pause
    const silent: number[] = []
    for (const { brokerId, fenced } of image.brokers.values()) {
      if (fenced) continue
      const session = this.#sessions.get(brokerId)
      if (session === undefined || nowMs - session.lastHeardMs >= timeoutMs) silent.push(brokerId)
    }
    return silent.sort((a, b) => a - b)
  }
}

function newSession(nowMs: number): Session {
  return { lastHeardMs: nowMs, metadataOffset: -1, shutdownOffset: null }
}

import type { Clock } from '../env/clock.ts'

/** Of a topic: `*`, or `partition:broker` pairs; null: none. */
export type ThrottledReplicas = '*' | ReadonlySet<string> | null

/** Reads `leader.replication.throttled.replicas` and its like, which has been validated where it was set. */
export function throttledReplicas(value: string): ThrottledReplicas {
  if (value === '' || value === 'none') return null
  if (value === '*') return '*'
  return new Set(value.split(',').map((pair) => pair.trim()))
}

export function isThrottled(replicas: ThrottledReplicas, partition: number, brokerId: number): boolean {
  if (replicas === null) return false
  return replicas === '*' || replicas.has(`${partition}:${brokerId}`)
}

/** So many seconds of the rate may be used at once after a time of rest. */
const BURST_SECONDS = 1

/** Bytes a second. What has been used beyond is waited for: one answer may overdraw it. */
export class RateLimit {
  readonly #clock: Clock
  #bytesPerSecond = Number.POSITIVE_INFINITY
  #left = 0
  #atMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get bytesPerSecond(): number {
    return this.#bytesPerSecond
  }

  set bytesPerSecond(rate: number) {
    this.#refill()
    this.#bytesPerSecond = rate
    this.#left = Math.min(this.#left, rate * BURST_SECONDS)
  }

  get isExceeded(): boolean {
    if (this.#bytesPerSecond === Number.POSITIVE_INFINITY) return false
    this.#refill()
    return this.#left <= 0
  }

  used(bytes: number): void {
    if (this.#bytesPerSecond !== Number.POSITIVE_INFINITY) this.#left -= bytes
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs()
    if (this.#bytesPerSecond === Number.POSITIVE_INFINITY) {
      this.#atMs = nowMs
      return
    }
    const gained = (this.#bytesPerSecond * (nowMs - this.#atMs)) / 1000
    this.#left = Math.min(this.#left + gained, this.#bytesPerSecond * BURST_SECONDS)
    this.#atMs = nowMs
  }
}

export interface ThrottleRates {
  /** `leader.replication.throttled.rate`, `follower.replication.throttled.rate` */
  readonly leader: number
  readonly follower: number
}

/**
 * What replication of throttled replicas may use (KIP-73): of those that are not in sync only, for a reassignment must
 * not cost the others their place.
 */
export class Throttles {
  readonly leader: RateLimit
  readonly follower: RateLimit

  constructor(clock: Clock) {
    this.leader = new RateLimit(clock)
    this.follower = new RateLimit(clock)
  }

  set rates({ leader, follower }: ThrottleRates) {
    if (this.leader.bytesPerSecond !== leader) this.leader.bytesPerSecond = leader
    if (this.follower.bytesPerSecond !== follower) this.follower.bytesPerSecond = follower
  }
}

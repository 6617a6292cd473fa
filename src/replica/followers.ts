import type { Env } from '../env/env.ts'
import { LeaderFetcher, type FetcherOptions } from './leader-fetcher.ts'
import type { FollowOptions, Partition } from './partition.ts'

/** All that this node replicates from others, by the node that leads it. */
export class Followers {
  readonly #env: Env
  readonly #options: FetcherOptions
  readonly #fetchers = new Map<number, LeaderFetcher>()

  constructor(env: Env, options: FetcherOptions) {
    this.#env = env
    this.#options = options
  }

  /** `partition` has another leader than this node, or another leader epoch, from now on. */
  follow(partition: Partition, leadership: FollowOptions): void {
    const machine = partition.follow(leadership)
    if (machine !== null) this.#fetcherOf(leadership.leaderId).add(partition, machine)
  }

  stop(): void {
    for (const fetcher of this.#fetchers.values()) fetcher.stop()
    this.#fetchers.clear()
  }

  dump(): string {
    return Array.from(this.#fetchers.values(), (fetcher) => fetcher.dump()).join('\n')
  }

  /** One that has no partitions any more rests, and costs nothing. */
  #fetcherOf(leaderId: number): LeaderFetcher {
    let fetcher = this.#fetchers.get(leaderId)
    if (fetcher === undefined) {
      fetcher = new LeaderFetcher(this.#env, leaderId, this.#options)
      this.#fetchers.set(leaderId, fetcher)
    }
    return fetcher
  }
}

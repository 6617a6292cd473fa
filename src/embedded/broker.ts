import { hostname } from 'node:os'
import type { Logger } from '../env/logger.ts'
import { nodeEnv } from '../env-node/node-env.ts'
import { formatAddress } from '../server/config/listeners.ts'
import { resolveMembership } from '../server/join/membership.ts'
import { Node } from '../server/node.ts'
import { configOf } from './config-of.ts'

export interface BrokerOptions {
  /** The data folder; made when it is missing. One of Apache Kafka's will do. */
  readonly data: string
  /** `host:port` for clients. Default: a free port of loopback. */
  readonly listen?: string
  /** Keys of `server.properties`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Default: warnings, as lines of JSON to stderr. */
  readonly log?: Logger
  /** The broker found that it cannot go on, which is a bug, and has ended. Default: the process ends too. */
  readonly onFailure?: (error: unknown) => void
}

/**
 * A broker on disk in the caller's own process: what `millrace start` runs, without HTTP and signals.
 *
 * ```ts
 * await using broker = await Broker.start({ data: 'events' })
 * await using producer = new Producer(broker.bootstrapServers)
 * ```
 */
export class Broker implements AsyncDisposable {
  readonly #node: Node

  private constructor(node: Node) {
    this.#node = node
  }

  /** Resolves when clients are served. Rejects with the reason for which the folder, an address or a setting is refused. */
  static async start(options: BrokerOptions): Promise<Broker> {
    const { data, listen = '127.0.0.1:0', settings = {}, log, onFailure = fail } = options
    const usual = nodeEnv({ log: { level: 'warn' } })
    const env = log === undefined ? usual : { ...usual, log }
    const config = configOf({
      listeners: `PLAINTEXT://${listen},CONTROLLER://127.0.0.1:0`,
      'controller.listener.names': 'CONTROLLER',
      'log.dirs': data,
      ...settings,
    })
    const node = new Node(env, await resolveMembership(env, config), {
      version: 'embedded',
      hostName: hostname(),
      onBug: onFailure,
    })
    try {
      await node.start()
    } catch (error) {
      await node.stop()
      throw error
    }
    return new Broker(node)
  }

  /** As clients of this machine want it: `127.0.0.1:41234`. */
  get bootstrapServers(): string {
    return this.#node.listeners.map(({ bound }) => formatAddress(bound)).join(',')
  }

  /** Writes everything down and ends: the next start needs no recovery. */
  async close(): Promise<void> {
    await this.#node.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Nothing in memory can be trusted any more, and nothing is written: the next start recovers from the disk. */
function fail(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}

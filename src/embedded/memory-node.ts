import { assert } from '../base/assert.ts'
import type { Logger } from '../env/logger.ts'
import type { NodeConfig } from '../server/config/node-config.ts'
import { resolveMembership } from '../server/join/membership.ts'
import { Node } from '../server/node.ts'
import { type NodeOptions, StartStoppedError } from '../server/node-options.ts'
import { FileTree } from '../sim/disk/file-tree.ts'
import type { LockTable } from '../sim/disk/tree-disk.ts'
import { configOf } from './config-of.ts'
import { Life } from './life.ts'
import type { SteeredClock } from './steered-clock.ts'

const HOST = '127.0.0.1'

export interface MemoryNodeOptions {
  readonly nodeId: number
  /** Keys of `server.properties`. */
  readonly settings: Readonly<Record<string, string>>
  /** Whose cluster it joins; null: it forms one. */
  readonly joins: MemoryNode | null
  readonly clock: SteeredClock
  readonly log: Logger
  readonly around?: NodeOptions['around']
  /** The node found that it cannot go on: a bug. It has ended. */
  readonly onFailure: (error: unknown) => void
}

/** One node through all its lives: what it wrote stays, and so do its ports. */
export class MemoryNode {
  readonly nodeId: number
  readonly #options: MemoryNodeOptions
  readonly #tree: FileTree
  readonly #locks: LockTable = new Map()
  #life: Life | null = null
  #node: Node | null = null
  /** Of clients and of controllers; 0 until the first start has taken free ones. */
  #ports: readonly [number, number] = [0, 0]

  constructor(options: MemoryNodeOptions) {
    this.nodeId = options.nodeId
    this.#options = options
    this.#tree = new FileTree({ journal: false, wallMs: () => options.clock.wallMs() })
  }

  /** Where clients reach it: `127.0.0.1:41234`. */
  get address(): string {
    return `${HOST}:${this.#ports[0]}`
  }

  get controllerAddress(): string {
    return `${HOST}:${this.#ports[1]}`
  }

  get isRunning(): boolean {
    return this.#life !== null
  }

  /** Null while it does not run. */
  get node(): Node | null {
    return this.#node
  }

  /** Starts a new life on what the last one left. Resolves when clients are served. */
  async start(): Promise<void> {
    assert(this.#life === null, `node ${this.nodeId} is running`)
    const { clock, log } = this.#options
    const life = new Life({ clock, log, tree: this.#tree, locks: this.#locks })
    this.#life = life
    try {
      await this.#begin(life)
    } catch (error) {
      if (this.#life === life) await this.kill()
      if (!(error instanceof StartStoppedError)) throw error
    }
  }

  async #begin(life: Life): Promise<void> {
    const config = await resolveMembership(life.env, this.#config())
    const { around } = this.#options
    const node = new Node(life.env, config, {
      version: 'embedded',
      hostName: HOST,
      ...(around === undefined ? {} : { around }),
      onBug: (error) => {
        if (this.#life !== life) return
        void this.kill()
        this.#options.onFailure(error)
      },
    })
    this.#node = node
    await node.start()
    this.#ports = [node.listeners[0]?.bound.port ?? 0, node.controllerAddress?.port ?? 0]
  }

  /** As SIGTERM: what it leads goes to others first. Resolves when it has stopped. */
  async stop(): Promise<void> {
    await this.#node?.stop()
    await this.kill()
  }

  /** As `kill -9`. Resolves when its ports are free; it is dead at once. */
  async kill(): Promise<void> {
    const life = this.#life
    this.#life = null
    this.#node = null
    await life?.end()
  }

  /** Removes what the time of day lets go, now. */
  async applyRetention(): Promise<void> {
    if (this.#life?.isPaused === false) await this.#node?.replicas?.applyRetention()
  }

  /** As SIGSTOP: it keeps its connections, and does nothing. */
  pause(): void {
    this.#life?.pause()
  }

  /** As SIGCONT. */
  resume(): void {
    this.#life?.resume()
  }

  #config(): NodeConfig {
    const [clients, controllers] = this.#ports
    const { joins, settings: given } = this.#options
    return configOf({
      'node.id': String(this.nodeId),
      listeners: `PLAINTEXT://${HOST}:${clients},CONTROLLER://${HOST}:${controllers}`,
      'controller.listener.names': 'CONTROLLER',
      'log.dirs': '/data',
      ...(joins === null ? {} : { join: joins.address }),
      ...given,
    })
  }
}

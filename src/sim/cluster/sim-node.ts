import { assert } from '../../base/assert.ts'
import { JoinStoppedError, resolveMembership } from '../../server/join/membership.ts'
import { Node } from '../../server/node.ts'
import { StartStoppedError } from '../../server/node-options.ts'
import type { Loss } from '../disk/power-loss.ts'
import type { Machine, Process } from '../machine.ts'
import type { Sim } from '../sim.ts'
import { CONTROLLER_PORT, simNodeConfig } from './node-config.ts'

/** After a clean stop. */
const CLOSED_WITHIN_MS = 10_000

export interface SimNodeOptions {
  readonly nodeId: number
  /** Of its machine. Default: by its number. */
  readonly name?: string
  /** Keys of `server.properties`. */
  readonly settings: Readonly<Record<string, string>>
  /** The node gave up: its start failed, or it found that it cannot go on. Its process has ended. */
  readonly onGivenUp: (node: SimNode, error: unknown) => void
}

/** One node on a machine of its own, through all its incarnations. */
export class SimNode {
  readonly nodeId: number
  readonly machine: Machine
  readonly #sim: Sim
  readonly #options: SimNodeOptions
  /** Keys of `server.properties`, from its next start on. */
  settings: Readonly<Record<string, string>>
  #process: Process | null = null
  #node: Node | null = null
  #isStopping = false
  /** Serves clients now. */
  isServing = false

  constructor(sim: Sim, options: SimNodeOptions) {
    this.#sim = sim
    this.#options = options
    this.nodeId = options.nodeId
    this.settings = options.settings
    this.machine = sim.addMachine(options.name ?? `node-${options.nodeId}`)
  }

  get node(): Node | null {
    return this.#node
  }

  get process(): Process | null {
    return this.#process
  }

  get isRunning(): boolean {
    return this.#process !== null
  }

  get hasFailedLogs(): boolean {
    for (const { isOffline } of this.#node?.replicas?.hosted ?? []) if (isOffline) return true
    return false
  }

  /** Starts an incarnation. A start that fails, or a bug that shows itself, fails the run. */
  start(): void {
    assert(this.#process === null, `${this.machine.name} is running`)
    const process = this.machine.boot()
    this.#process = process
    this.#isStopping = false
    this.#run(process).catch((error) => {
      const isStopped = error instanceof StartStoppedError || error instanceof JoinStoppedError
      if (!isStopped) this.#gaveUp(process, error)
    })
  }

  /** As `millrace start` does it. */
  async #run(process: Process): Promise<void> {
    const given = simNodeConfig(this.nodeId, this.settings)
    const config = await resolveMembership(process.env, given, () => this.#isStopping)
    const node = new Node(process.env, config, {
      version: 'simulated',
      hostName: this.machine.host.ip,
      onBug: (error) => this.#gaveUp(process, error),
    })
    this.#node = node
    await node.start()
    this.isServing = true
  }

  /** The process ends in an event of its own: what called us may still be running in it. */
  #gaveUp(process: Process, error: unknown): void {
    this.#sim.after(0, () => {
      if (this.#process !== process) return
      this.kill()
      this.#options.onGivenUp(this, error)
    })
  }

  /** As `kill -9`. */
  kill(): void {
    const process = this.#ended()
    if (process) this.machine.kill(process)
  }

  losePower(loss: Loss): void {
    this.#ended()
    this.machine.losePower(loss)
  }

  /** Its power goes, and its disk is replaced by an empty one; it is not started. Its operator has it join the others. */
  replaceDisk(others: readonly SimNode[]): void {
    this.losePower('any')
    this.machine.wipe()
    const join = others.map(({ machine }) => `${machine.host.ip}:${CONTROLLER_PORT}`)
    this.settings = { ...this.settings, join: join.join(',') }
  }

  /** As SIGTERM, also while it starts: the process ends when the node has stopped. */
  async stop(): Promise<void> {
    const [node, process] = [this.#node, this.#process]
    assert(process !== null, `${this.machine.name} is not running`)
    this.isServing = false
    this.#isStopping = true
    // One that has not found its cluster has nothing to put in order.
    if (node === null) return this.kill()
    await node.stop()
    if (this.#process !== process) return
    // A read that nobody waits for any more may still be under way.
    const { disk } = process
    await this.#sim.until(() => disk.openFiles === 0 || this.#process !== process, {
      withinMs: CLOSED_WITHIN_MS,
      what: () => `all files are closed (${disk.openPaths.join(', ')})`,
    })
    if (this.#process === process) this.kill()
  }

  #ended(): Process | null {
    const process = this.#process
    this.#process = null
    this.#node = null
    this.isServing = false
    return process
  }
}

import assert from 'node:assert/strict'
import { hashOf } from '../metadata/snapshot.ts'
import type { Machine, Process } from '../sim/machine.ts'
import type { Sim } from '../sim/sim.ts'
import { CONTROLLER_PORT, QuorumNode, type QuorumNodeOptions } from './quorum-node.ts'

/** One controller through its incarnations. */
export class Controller {
  readonly nodeId: number
  readonly machine: Machine
  readonly #world: QuorumWorld
  options: Partial<QuorumNodeOptions>
  process: Process | null = null
  node: QuorumNode | null = null
  #starting: Promise<void> | null = null

  constructor(world: QuorumWorld, nodeId: number, options: Partial<QuorumNodeOptions> = {}, machine?: string) {
    this.#world = world
    this.nodeId = nodeId
    this.options = options
    this.machine = world.sim.addMachine(machine ?? `controller-${nodeId}`)
  }

  get host(): string {
    return this.machine.host.ip
  }

  get quorum() {
    assert.ok(this.node !== null, `controller ${this.nodeId} is not up`)
    return this.node.quorum
  }

  start(): Promise<void> {
    const process = this.machine.boot()
    this.process = process
    const options: QuorumNodeOptions = {
      nodeId: this.nodeId,
      host: this.host,
      onFailure: (error) => this.#world.sim.scheduler.fail(error),
      ...this.options,
    }
    this.#starting = QuorumNode.start(process.env, options).then((node) => {
      this.node = node
    })
    this.#starting.catch(() => {})
    return this.#starting
  }

  kill(): void {
    if (this.process !== null) this.machine.kill(this.process)
    this.node = null
  }

  losePower(): void {
    this.machine.losePower('any')
    this.node = null
  }

  async stop(): Promise<void> {
    await this.node?.stop()
    this.kill()
  }

  /** A new disk under the same number. */
  wipe(): void {
    this.losePower()
    this.machine.wipe()
  }

  register(brokerId: number): Promise<number> {
    assert.ok(this.node !== null && this.process !== null)
    return this.node.register(this.process.env, brokerId)
  }
}

/** Controllers on simulated machines, and what they acknowledged. */
export class QuorumWorld {
  readonly sim: Sim
  readonly controllers: Controller[] = []
  #nextBroker = 1000
  /** Brokers whose registration was answered. */
  readonly acknowledged: number[] = []

  constructor(sim: Sim) {
    this.sim = sim
  }

  controller(nodeId: number, options: Partial<QuorumNodeOptions> = {}): Controller {
    const controller = new Controller(this, nodeId, options)
    this.controllers.push(controller)
    return controller
  }

  /** On another machine, with a copy of all that is on its disk now; not started. */
  copyOf({ nodeId, machine, options }: Controller, more: Partial<QuorumNodeOptions> = {}): Controller {
    const join = this.controllers.map(({ host }) => ({ host, port: CONTROLLER_PORT }))
    const copy = new Controller(this, nodeId, { ...options, join, ...more }, `copy of ${machine.name}`)
    copy.machine.restoreImage(machine.takeImage())
    return copy
  }

  get up(): Controller[] {
    return this.controllers.filter(({ node }) => node !== null)
  }

  get active(): Controller | null {
    const epoch = Math.max(...this.up.map(({ quorum }) => quorum.epoch))
    return this.up.find(({ quorum }) => quorum.isActive && quorum.epoch === epoch) ?? null
  }

  async untilActive(withinMs: number): Promise<Controller> {
    const what = () => `somebody is the active controller:\n${this.dump()}`
    await this.sim.until(() => this.active !== null, { withinMs, what })
    return this.active as Controller
  }

  dump(): string {
    return this.controllers.map(({ nodeId, node }) => `${nodeId}: ${node?.quorum.dump ?? 'down'}`).join('\n')
  }

  async register(): Promise<void> {
    const brokerId = this.#nextBroker++
    await (await this.untilActive(5000)).register(brokerId)
    this.acknowledged.push(brokerId)
  }

  /** One that begins, and others that join it, up to `count` voters. */
  async grow(count: number, options: Partial<QuorumNodeOptions> = {}): Promise<void> {
    for (let nodeId = this.controllers.length + 1; nodeId <= count; nodeId++) {
      const join = this.controllers.map(({ host }) => ({ host, port: CONTROLLER_PORT }))
      await this.controller(nodeId, { ...options, join, autoJoin: nodeId > 1 }).start()
      await this.sim.until(() => this.votersEverywhere(nodeId), { withinMs: 60_000, what: `voter ${nodeId} is in` })
    }
  }

  votersEverywhere(count: number): boolean {
    return this.up.every(({ quorum }) => quorum.facts.voters.size === count)
  }

  /** All images are equal, and have everything that was acknowledged. */
  async level(): Promise<void> {
    await this.sim.until(
      () => {
        const [first, ...others] = this.up.map(({ quorum }) => quorum.image)
        return others.every((image) => image.position.offset === first?.position.offset)
      },
      { withinMs: 5000, what: 'all are level' },
    )
    const hashes = this.up.map(({ quorum }) => hashOf(quorum.image))
    assert.equal(new Set(hashes).size, 1, 'equal images')
    for (const { nodeId, quorum } of this.up) {
      const lost = this.acknowledged.filter((brokerId) => quorum.image.broker(brokerId) === undefined)
      assert.deepEqual(lost, [], `lost on ${nodeId}`)
    }
  }
}

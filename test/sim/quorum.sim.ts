/**
 * Three or five controllers and a follower, and nothing else of a node: everything that can happen to processes, disks and
 * the network happens to them. What was acknowledged is in the image of all of them afterwards; at the same offset all of
 * them ever showed the same image; no epoch had two active controllers.
 */
import assert from 'node:assert/strict'
import type { Random } from '../../src/base/random.ts'
import { hashOf } from '../../src/metadata/snapshot.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { CONTROLLER_PORT } from '../../src/testing/quorum-node.ts'
import { type Controller, QuorumWorld } from '../../src/testing/quorum-world.ts'
import { watchQuorum } from './support/watch-quorum.ts'

const FAULTS = 40
const FAULT_EVERY_MS = 1200
const OBSERVER = 50

class Trouble {
  readonly #sim: Sim
  readonly #random: Random
  readonly #all: QuorumWorld
  /** The image at an offset, as whoever showed it first had it. */
  readonly #shown = new Map<number, string>()
  readonly #activeIn = new Map<number, number>()
  #isOver = false

  constructor(all: QuorumWorld, sim: Sim) {
    this.#all = all
    this.#sim = sim
    this.#random = sim.streams.workload
    sim.scheduler.addInvariant(() => this.#oneActive())
    watchQuorum(sim, all)
  }

  async begin(): Promise<void> {
    const voters = this.#random.pick([1, 3, 3, 5])
    const options = { staticValues: new Map([['metadata.log.max.record.bytes.between.snapshots', '4000']]) }
    const onImage = (_: unknown, image: Parameters<typeof hashOf>[0]) => {
      const { offset, epoch } = image.position
      // Two that differ differ in this nearly always, and all of it takes long.
      const hash = offset % 10 === 0 ? hashOf(image) : `${epoch} ${image.brokers.size}`
      const first = this.#shown.get(offset) ?? hash
      this.#shown.set(offset, first)
      assert.equal(hash, first, `two images at offset ${offset}`)
    }
    await this.#all.grow(voters, { ...options, onImage })
    const observer = this.#all.controller(OBSERVER, { ...options, onImage, isController: false })
    for (const each of this.#all.controllers) {
      const join = this.#all.controllers.map(({ host }) => ({ host, port: CONTROLLER_PORT }))
      each.options = { ...each.options, join, autoJoin: true }
    }
    void observer.start()
  }

  #oneActive(): void {
    for (const { nodeId, node } of this.#all.controllers) {
      if (node === null || !node.quorum.isActive) continue
      const { epoch } = node.quorum
      const first = this.#activeIn.get(epoch) ?? nodeId
      this.#activeIn.set(epoch, first)
      assert.equal(nodeId, first, `two active controllers in epoch ${epoch}`)
    }
  }

  /** Somebody always wants something written. What is refused or lost is not asked for again. */
  async produce(): Promise<void> {
    for (let brokerId = 1000; !this.#isOver; brokerId++) {
      const leader = this.#all.up.find(({ quorum }) => quorum.isActive)
      if (leader !== undefined) {
        const done = leader.register(brokerId).then(
          () => this.#all.acknowledged.push(brokerId),
          () => {},
        )
        // A process that dies never answers.
        if (this.#random.chance(0.7)) await Promise.race([done, this.#sim.runFor(200)])
      }
      await this.#sim.runFor(this.#random.below(60))
    }
  }

  async happen(): Promise<void> {
    for (let i = 0; i < FAULTS; i++) {
      await this.#sim.runFor(this.#random.below(FAULT_EVERY_MS))
      this.#one()
    }
    this.#isOver = true
  }

  #one(): void {
    const random = this.#random
    const one = random.pick(this.#all.controllers)
    const leader = this.#all.up.find(({ quorum }) => quorum.isActive)
    const target = leader !== undefined && random.chance(0.4) ? leader : one
    const kinds: (() => void)[] = [
      () => this.#down(target, () => target.kill()),
      () => this.#down(target, () => target.losePower()),
      () => this.#down(target, () => target.kill(), 1),
      () =>
        void target.stop().then(
          () => this.#later(target),
          () => {},
        ),
      () => target.machine.pause(random.below(3000)),
      () => target.machine.stallDisk(random.below(2500)),
      () => this.#withoutRoom(target),
      () => this.#partition(target),
      () => this.#oneWay(target, one),
      () => this.#sim.net.heal(),
      () => void target.node?.quorum.takeSnapshot().catch(() => {}),
      () => this.#everyone(),
      () => this.#wipe(),
      () => this.#remove(),
    ]
    random.pick(kinds)()
  }

  #down(one: Controller, fall: () => void, belowMs = 3000): void {
    if (!one.machine.isRunning) return
    fall()
    this.#later(one, belowMs)
  }

  #later(one: Controller, belowMs = 3000): void {
    this.#sim.after(this.#random.below(belowMs), () => {
      if (!this.#isOver && !one.machine.isRunning) void one.start()
    })
  }

  #withoutRoom({ machine }: Controller): void {
    machine.leaveRoom(this.#random.below(3000))
    this.#sim.after(this.#random.below(2000), () => machine.leaveRoom(Number.POSITIVE_INFINITY))
  }

  #partition(one: Controller): void {
    this.#sim.net.isolate(one.machine.host)
    this.#sim.after(this.#random.below(4000), () => this.#sim.net.heal())
  }

  #oneWay(from: Controller, to: Controller): void {
    if (from !== to) this.#sim.net.cutLink(from.machine.host, to.machine.host)
    this.#sim.after(this.#random.below(4000), () => this.#sim.net.heal())
  }

  #everyone(): void {
    for (const each of this.#all.controllers) this.#down(each, () => each.losePower(), 500)
  }

  /** Everyone is up, and a voter with the disk it has: who has lost one must not lose another voter. */
  get #isWhole(): boolean {
    const voters = this.#all.controllers.filter(({ nodeId }) => nodeId !== OBSERVER)
    return voters.every(({ nodeId, node }) => {
      const directoryId = node?.logs.metaProperties.directoryId
      if (directoryId === undefined) return false
      return voters.every((each) => each.node?.quorum.facts.voters.has({ id: nodeId, directoryId }) === true)
    })
  }

  #wipe(): void {
    const voters = this.#all.controllers.filter(({ nodeId }) => nodeId !== OBSERVER)
    if (voters.length < 3 || !this.#isWhole) return
    const one = this.#random.pick(voters)
    one.wipe()
    void one.start()
  }

  /** It is back after its next start. */
  #remove(): void {
    const leader = this.#all.up.find(({ quorum }) => quorum.isActive)
    const voter = this.#random.pick(leader?.quorum.facts.voters.voters ?? [null])
    if (leader === undefined || voter === null || !this.#isWhole) return
    const body = { clusterId: null, voterId: voter.voterId, voterDirectoryId: voter.voterDirectoryId }
    leader.quorum.answer({ api: 'RemoveRaftVoter', body }, 0, 'CONTROLLER').catch(() => {})
  }

  async recover(): Promise<void> {
    this.#sim.net.heal()
    for (const { machine } of this.#all.controllers) machine.leaveRoom(Number.POSITIVE_INFINITY)
    await this.#sim.runFor(5000)
    for (const each of this.#all.controllers) if (!each.machine.isRunning) void each.start()
    const withinMs = 20_000
    await this.#sim.until(() => this.#all.up.length === this.#all.controllers.length, { withinMs, what: 'all are up' })
    await this.#sim.until(() => this.#all.active !== null, { withinMs, what: () => this.#all.dump() })
    await this.#all.register()
    await this.#all.level()
  }
}

scenario('a metadata quorum loses nothing and shows everyone the same', { seeds: 60 }, async (sim) => {
  const all = new QuorumWorld(sim)
  const trouble = new Trouble(all, sim)
  await trouble.begin()
  void trouble.produce()
  await trouble.happen()
  await trouble.recover()
  assert.ok(all.acknowledged.length > 0)
})

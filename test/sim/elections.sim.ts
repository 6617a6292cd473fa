/**
 * Controllers that lose their leader again and again, on a slow network, and that die and come back within their elections:
 * each epoch has one leader at most, and what was committed stays (I10).
 */
import assert from 'node:assert/strict'
import type { MetadataImage } from '../../src/metadata/image.ts'
import { hashOf } from '../../src/metadata/snapshot.ts'
import type { DiskProfile } from '../../src/sim/disk/disk-faults.ts'
import { STEADY_DISK } from '../../src/sim/disk/disk-faults.ts'
import { someOf } from '../../src/sim/faults/process-faults.ts'
import { type NetProfile, STEADY_NET } from '../../src/sim/net/sim-net.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { CONTROLLER_PORT } from '../../src/testing/quorum-node.ts'
import { type Controller, QuorumWorld } from '../../src/testing/quorum-world.ts'
import { watchQuorum } from './support/watch-quorum.ts'

const ROUNDS = 40
/** Two stand at once when a vote takes about as long as their patience differs. */
const NET: NetProfile = { ...STEADY_NET, delayMs: 25, tailChance: 0.02 }
const DISK: DiskProfile = { ...STEADY_DISK, syncMs: 4, tailChance: 0.02 }
const SETTINGS = new Map([
  ['metadata.log.max.record.bytes.between.snapshots', '1000000'],
  // One batch at a time: each step of catching up is seen.
  ['controller.quorum.fetch.max.bytes', '1'],
])

scenario(
  'controllers that die within their elections elect one leader an epoch',
  { seeds: 60, net: NET, disk: DISK },
  async (sim) => {
    const all = new QuorumWorld(sim)
    watchQuorum(sim, all)
    const shown = new Map<number, string>()
    const onImage = (_: unknown, image: MetadataImage) => {
      const { offset } = image.position
      const hash = hashOf(image)
      const first = shown.get(offset) ?? hash
      shown.set(offset, first)
      assert.equal(hash, first, `I12: two images at offset ${offset}`)
    }
    const options = { staticValues: SETTINGS, onImage }
    await all.grow(3, options)
    for (const each of all.controllers) {
      const join = all.controllers.map(({ host }) => ({ host, port: CONTROLLER_PORT }))
      each.options = { ...each.options, join, autoJoin: true }
    }
    const elections = new Elections(sim, all)
    for (let round = 0; round < ROUNDS; round++) await elections.round()
    await elections.settle()
    await all.register()
    await all.level()
    assert.ok(all.acknowledged.length > 0)
  },
)

class Elections {
  readonly #sim: Sim
  readonly #all: QuorumWorld

  constructor(sim: Sim, all: QuorumWorld) {
    this.#sim = sim
    this.#all = all
  }

  /** The leader has records that some of the others lack, and is gone; meanwhile others die, or cannot be reached. */
  async round(): Promise<void> {
    const { streams, net } = this.#sim
    const random = streams.faults
    const leader = this.#all.active
    if (leader !== null && random.chance(0.3)) return this.#leftBehind(leader)
    if (leader !== null) {
      if (random.chance(0.5))
        for (const other of this.#others(leader))
          if (random.chance(0.6)) net.cutBetween(leader.machine.host, other.machine.host)
      for (let writes = random.below(4); writes > 0; writes--) this.#write(leader)
      await this.#sim.runFor(random.float() * 150)
      this.#down(leader, random.chance(0.5) ? 0 : random.float() * 1500)
    }
    await (random.chance(0.3) ? this.#someDie() : this.#whoVotesDies(leader))
    if (random.chance(0.7)) net.heal()
    await this.#sim.runFor(random.float() * 1000)
  }

  /** The leader goes on alone, with what nobody will ever commit, and comes back to another one's records. */
  async #leftBehind(leader: Controller): Promise<void> {
    const { streams, net } = this.#sim
    const random = streams.faults
    const cut = net.isolate(leader.machine.host)
    for (let writes = random.below(4); writes > 0; writes--) this.#write(leader)
    await this.#sim.runFor(500 + random.float() * 2500)
    const next = this.#all.active
    if (next !== null && next !== leader) for (let writes = random.below(4); writes > 0; writes--) this.#write(next)
    cut.heal()
    await this.#sim.runFor(random.float() * 1000)
  }

  async #someDie(): Promise<void> {
    const random = this.#sim.streams.faults
    for (let deaths = random.below(4); deaths > 0; deaths--) {
      await this.#sim.runFor(random.float() * 500)
      this.#down(random.pick(this.#all.controllers), random.chance(0.6) ? 0 : random.float() * 800)
    }
  }

  /** Just after it has given its vote, and it comes back at once: another candidate may ask it then. */
  async #whoVotesDies(leader: Controller | null): Promise<void> {
    const random = this.#sim.streams.faults
    // Two that stand, and do not hear of each other.
    const [one, other] = leader === null ? someOf(this.#all.controllers, 2, random) : this.#others(leader)
    if (one !== undefined && other !== undefined) this.#sim.net.cutBetween(one.machine.host, other.machine.host)
    const known = new Set<string>()
    for (const untilMs = this.#sim.nowMs + 1500; this.#sim.nowMs < untilMs; await this.#sim.runFor(4)) {
      for (const each of this.#all.up) {
        const vote = / voted=(\d+)/.exec(each.quorum.dump)?.[1] ?? String(each.nodeId)
        const name = `${each.nodeId} for ${vote} in ${each.quorum.epoch}`
        if (Number(vote) === each.nodeId || known.has(name)) continue
        known.add(name)
        // By then the candidate may have it, or not.
        if (random.chance(0.6)) this.#sim.after(random.float() * 40, () => this.#down(each, 0))
      }
    }
  }

  #others(one: Controller): Controller[] {
    return this.#all.controllers.filter((each) => each !== one)
  }

  #write(leader: Controller): void {
    const brokerId = 2000 + this.#sim.streams.workload.below(1_000_000)
    leader.register(brokerId).then(
      () => this.#all.acknowledged.push(brokerId),
      () => {},
    )
  }

  #down(one: Controller, forMs: number): void {
    if (!one.machine.isRunning) return
    if (this.#sim.streams.faults.chance(0.5)) one.kill()
    else one.losePower()
    this.#sim.after(forMs, () => this.#up(one))
  }

  #up(one: Controller): void {
    if (!one.machine.isRunning) void one.start()
  }

  async settle(): Promise<void> {
    this.#sim.net.heal()
    await this.#sim.runFor(2000)
    for (const each of this.#all.controllers) this.#up(each)
    const isWhole = () => this.#all.up.length === this.#all.controllers.length && this.#all.active !== null
    await this.#sim.until(isWhole, { withinMs: 20_000, what: 'all are up, and one of them leads' })
  }
}

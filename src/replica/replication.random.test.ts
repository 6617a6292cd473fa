import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../base/random.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Sim } from '../sim/sim.ts'
import { simulate } from '../sim/sim.ts'
import { ReplicaCluster, type ReplicaMember } from '../testing/replica-cluster.ts'
import { batchOf } from '../testing/replica-node.ts'

const FIRST_SEED = Number(process.env.MILLRACE_FIRST_SEED ?? 1)
const SEEDS = Number(process.env.MILLRACE_SEEDS ?? 8)
const PARTITIONS = 2
const FAULTS = 25

test('what producers send until it is acknowledged is there once, in order, on all replicas, whatever happens between', async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    await simulate({ seed }, (sim) => new Run(sim, seed).run())
  }
})

/** One cluster with a producer for each partition, and faults one after the other. */
class Run {
  readonly #sim: Sim
  readonly #random: Random
  #cluster!: ReplicaCluster
  #isOver = false
  readonly #sent = new Map<number, number>()

  constructor(sim: Sim, seed: number) {
    this.#sim = sim
    this.#random = new Random(seed * 7919)
  }

  async run(): Promise<void> {
    const mayRelax = this.#random.below(4) === 0
    const configs: Record<string, string> = { 'min.insync.replicas': '2', 'segment.bytes': '1048576' }
    if (mayRelax) configs['durability.mode'] = 'relaxed'
    const replica = { lagTimeMaxMs: 2000, highWatermarkIntervalMs: 500 }
    this.#cluster = await ReplicaCluster.start(this.#sim, { replica })
    this.#cluster.createTopic('a', { partitions: PARTITIONS, configs })
    const producers = Array.from({ length: PARTITIONS }, (_, partition) => this.#produce(partition))
    for (let index = 0; index < FAULTS; index++) {
      await this.#sim.runFor(this.#random.below(400))
      await this.#fault(mayRelax)
    }
    await this.#heal()
    await this.#sim.runFor(3000)
    this.#isOver = true
    await Promise.all(producers)
    await this.#sim.runFor(3000)
    await this.#judge()
  }

  /** Sends one batch after the other, each until it is acknowledged, to whoever leads. */
  async #produce(partition: number): Promise<void> {
    const producerId = 100 + partition
    for (let sequence = 0; !this.#isOver; sequence++) {
      this.#sent.set(partition, sequence + 1)
      while (!(await this.#send(partition, producerId, sequence))) await this.#sim.runFor(20)
      await this.#sim.runFor(this.#random.below(30))
    }
  }

  async #send(partition: number, producerId: number, sequence: number): Promise<boolean> {
    const leader = this.#cluster.controller.image.partition('a', partition)?.leader ?? -1
    // Now and then a client believes in another leader.
    const node = this.#cluster.nodes[this.#random.below(10) === 0 ? this.#random.below(3) : leader - 1]
    if (node === undefined || !node.isRunning) return false
    const batch = batchOf([`${sequence}`], { producerId, producerEpoch: 0, baseSequence: sequence })
    const answer = node.produce('a', batch, { partition, timeoutMs: 1500 })
    const { errorCode } = await Promise.race([answer, this.#silence(2500)])
    const mayBe = [
      ...[ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS],
      ...[ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    ] as number[]
    assert.ok(mayBe.includes(errorCode), `produce was answered with ${errorCode}`)
    return errorCode === ErrorCode.NONE
  }

  /** Of a process that died with the request. */
  async #silence(ms: number): Promise<{ errorCode: number }> {
    await this.#sim.runFor(ms)
    return { errorCode: ErrorCode.REQUEST_TIMED_OUT }
  }

  async #fault(isRelaxed: boolean): Promise<void> {
    const { net } = this.#sim
    const node = this.#cluster.nodes[this.#random.below(3)] as ReplicaMember
    const other = this.#cluster.nodes[this.#random.below(3)] as ReplicaMember
    switch (this.#random.below(12)) {
      case 0:
      case 1:
        return this.#die(node, () => node.kill())
      case 2:
        // What a relaxed topic had in the page cache only is not promised.
        return this.#die(node, () => (isRelaxed ? node.kill() : node.losePower('any')))
      case 3:
        net.isolate(node.machine.host)
        return
      case 4:
        net.cutLink(node.machine.host, other.machine.host)
        return
      case 5:
        node.machine.pause(this.#random.below(3000))
        return
      case 6:
        node.machine.stallDisk(this.#random.below(3000))
        return
      case 7:
        node.isConnected = false
        return
      case 8:
        return this.#elect()
      case 9:
        net.resetConnections(node.machine.host, other.machine.host)
        return
      default:
        return this.#heal()
    }
  }

  /** The controller notices sooner or later, or only when the process is back. */
  async #die(node: ReplicaMember, how: () => void): Promise<void> {
    if (!node.isRunning) return
    how()
    if (this.#random.below(2) === 0) {
      await this.#sim.runFor(this.#random.below(300))
      this.#cluster.controller.fence(node.id)
    }
    if (this.#random.below(2) === 0) await this.#start(node)
  }

  async #start(node: ReplicaMember): Promise<void> {
    node.isConnected = true
    await node.start({ staysInSync: true })
  }

  #elect(): void {
    const { controller } = this.#cluster
    const partition = this.#random.below(PARTITIONS)
    const isr = controller.image.partition('a', partition)?.isr ?? []
    const alive = isr.filter((id) => controller.image.broker(id)?.fenced === false)
    const leader = alive[this.#random.below(Math.max(alive.length, 1))]
    if (leader !== undefined) controller.lead('a', leader, partition)
  }

  async #heal(): Promise<void> {
    this.#sim.net.heal()
    for (const node of this.#cluster.nodes) {
      if (!node.isRunning) await this.#start(node)
      node.isConnected = true
      node.hear()
    }
  }

  async #judge(): Promise<void> {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const sent = Array.from({ length: this.#sent.get(partition) ?? 0 }, (_, index) => `${index}`)
      assert.ok(sent.length > 10, `only ${sent.length} sent`)
      const image = this.#cluster.controller.image.partition('a', partition)
      assert.equal(image?.isr.length, 3, `isr ${image?.isr}`)
      for (const node of this.#cluster.nodes) {
        assert.deepEqual(await node.held('a', partition), sent, `a-${partition} on node ${node.id}`)
        assert.deepEqual(node.losses, [])
        assert.equal(node.partition('a', partition).highWatermark, sent.length)
      }
      const [first, ...others] = this.#cluster.nodes.map((node) => epochsOf(node, partition))
      for (const entries of others) assert.deepEqual(entries, first)
    }
  }
}

/** Of the records: a leader also knows of its own epoch when it has written nothing yet. */
function epochsOf(node: ReplicaMember, partition: number) {
  const { log } = node.partition('a', partition)
  return log?.epochs.entries.filter(({ startOffset }) => startOffset < log.endOffset)
}

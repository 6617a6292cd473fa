import { lookUpEnd, lookUpTime, readOn, readWhole } from '../../../src/sim/clients/fetching.ts'
import { GroupMember } from '../../../src/sim/clients/group-member.ts'
import { IdempotentProducer } from '../../../src/sim/clients/idempotent-producer.ts'
import { PlainProducer } from '../../../src/sim/clients/plain-producer.ts'
import type { SimCluster } from '../../../src/sim/cluster/sim-cluster.ts'
import { assertHistory } from '../../../src/sim/history/check.ts'
import type { History } from '../../../src/sim/history/history.ts'
import { nothingUnseen } from '../../../src/sim/history/offsets.ts'
import type { Machine } from '../../../src/sim/machine.ts'
import type { Sim } from '../../../src/sim/sim.ts'

const TOPIC = 'orders'
const GROUP = 'billing'
const UNACKNOWLEDGED_MAX = 200
const SETTLED_WITHIN_MS = 60_000

export interface LoadOptions {
  /** The topic's mode acknowledges before the disk has it, and the power may go: the last moments may be lost. */
  readonly mayLose?: boolean
  readonly partitions?: number
  readonly replicationFactor?: number
  /** Between two batches of a producer, on average. */
  readonly gapMs?: number
}

/**
 * One topic; two idempotent producers, one that sends once and believes what it is told, a group of two, and somebody who
 * asks for ends and times.
 */
export class Load {
  readonly history: History
  /** Of the clients. */
  readonly machines: Machine[] = []
  readonly #sim: Sim
  readonly #cluster: SimCluster
  readonly #producers: IdempotentProducer[] = []
  readonly #plain: PlainProducer[] = []
  readonly #members: GroupMember[] = []
  readonly #options: Required<LoadOptions>
  #sending: Promise<unknown> = Promise.resolve()
  #isOver = false

  constructor(sim: Sim, cluster: SimCluster, options: LoadOptions = {}) {
    this.#sim = sim
    this.#cluster = cluster
    this.history = cluster.history
    this.#options = { mayLose: false, partitions: 3, replicationFactor: 1, gapMs: 40, ...options }
  }

  /** Creates the topic and begins to send and to read. */
  async start(configs: Readonly<Record<string, string>>): Promise<void> {
    const { partitions, replicationFactor, mayLose: toleratesLoss } = this.#options
    await this.#cluster.createTopic(this.#client('admin'), { name: TOPIC, partitions, replicationFactor, configs })
    const { history } = this
    for (const name of ['anna', 'bert']) {
      const client = this.#client(name)
      const producer = new IdempotentProducer({ name, topic: TOPIC, partitions, client, history, toleratesLoss })
      await producer.start()
      this.#producers.push(producer)
    }
    for (const name of ['carl', 'dora']) {
      const client = this.#client(name)
      const member = new GroupMember({ name, group: GROUP, topic: TOPIC, client, history, toleratesLoss })
      member.start()
      this.#members.push(member)
    }
    const sending = this.#producers.map((producer) => this.#keepSending(producer))
    this.#sending = Promise.all([...sending, this.#sendOnce(), this.#keepAsking()])
  }

  /** A consumer outside any group that reads every partition from its first offset, for as long as the run lasts. */
  addReader(): void {
    const name = `reader-${this.machines.length}`
    const client = this.#client(name)
    for (let partition = 0; partition < this.#options.partitions; partition++) {
      void readOn(client, this.history, { name, topic: TOPIC, partition })
    }
  }

  #client(name: string) {
    const { client, machine } = this.#cluster.client(name)
    this.machines.push(machine)
    return client
  }

  /** Small batches at an uneven pace, with a bound on what is not acknowledged. */
  async #keepSending(producer: IdempotentProducer): Promise<void> {
    const random = this.#sim.streams.workload.fork()
    const { gapMs, partitions } = this.#options
    while (!this.#isOver) {
      const count = 1 + random.below(random.chance(0.1) ? 50 : 5)
      if (producer.pending < UNACKNOWLEDGED_MAX) producer.send(random.below(partitions), count)
      await this.#sim.runFor(random.float() * (random.chance(0.1) ? 10 : 1.2) * gapMs)
    }
  }

  /** What is refused must not be there, what is acknowledged must: by somebody who never asks twice. */
  async #sendOnce(): Promise<void> {
    const random = this.#sim.streams.workload.fork()
    const { history } = this
    const client = this.#client('emma')
    for (const acks of ['all', 'leader'] as const) {
      this.#plain.push(new PlainProducer({ name: `emma-${acks}`, topic: TOPIC, client, history, acks }))
    }
    const { gapMs, partitions } = this.#options
    while (!this.#isOver) {
      void random.pick(this.#plain).send(random.below(partitions), 1 + random.below(3))
      await this.#sim.runFor(random.float() * 10 * gapMs)
    }
  }

  async #keepAsking(): Promise<void> {
    const random = this.#sim.streams.workload.fork()
    const { history } = this
    const client = this.#client('fred')
    const { gapMs, partitions } = this.#options
    while (!this.#isOver) {
      const place = { topic: TOPIC, partition: random.below(partitions) }
      if (random.chance(0.5)) await lookUpEnd(client, history, place)
      else await lookUpTime(client, history, { ...place, timestampMs: this.#someTimeMs(random.float()) })
      await this.#sim.runFor(random.float() * 20 * gapMs)
    }
  }

  /** Of a record that was sent; `share` of all the way back to the first. */
  #someTimeMs(share: number): number {
    const { sends } = this.history
    return sends[Math.floor(share * sends.length)]?.timestampMs ?? 0
  }

  /**
   * To be called when everything is healed: sending stops, and progress is demanded. All that was sent must be
   * acknowledged, all that was acknowledged must be read by the group; then everything is read back and judged.
   */
  async settleAndJudge(): Promise<void> {
    const [sim, history] = [this.#sim, this.history]
    const withinMs = SETTLED_WITHIN_MS
    this.#isOver = true
    const what = () => `every question is answered: ${this.#cluster.dump()}`
    await sim.within(this.#sending, { withinMs, what })
    const isAnswered = () => [...this.#producers, ...this.#plain].every(({ pending }) => pending === 0)
    await sim.until(isAnswered, { withinMs, what: 'every send is answered' })
    const isRead = () => nothingUnseen(history, GROUP).length === 0
    if (!this.#options.mayLose)
      await sim.until(isRead, { withinMs, everyMs: 500, what: 'the group has read everything acknowledged' })
    const leaving = Promise.all(this.#members.map((member) => member.stop()))
    await sim.within(leaving, { withinMs, what: 'the members leave' })
    const reader = this.#client('reader')
    for (let partition = 0; partition < this.#options.partitions; partition++) {
      await sim.within(readWhole(reader, history, { topic: TOPIC, partition }), {
        withinMs,
        what: 'reading it all back',
      })
    }
    assertHistory(history)
  }
}

import { readOn, readWhole } from '../../../src/sim/clients/fetching.ts'
import { GroupMember } from '../../../src/sim/clients/group-member.ts'
import { IdempotentProducer } from '../../../src/sim/clients/idempotent-producer.ts'
import type { SimCluster } from '../../../src/sim/cluster.ts'
import { assertHistory } from '../../../src/sim/history/check.ts'
import { History } from '../../../src/sim/history/history.ts'
import { nothingUnseen } from '../../../src/sim/history/offsets.ts'
import type { Machine } from '../../../src/sim/machine.ts'
import type { Sim } from '../../../src/sim/sim.ts'

const TOPIC = 'orders'
const GROUP = 'billing'
const PARTITIONS = 3
const UNACKNOWLEDGED_MAX = 200
const SETTLED_WITHIN_MS = 60_000

export interface LoadOptions {
  /** The topic's mode acknowledges before the disk has it, and the power may go: the last moments may be lost. */
  readonly mayLose?: boolean
}

/** One topic, two idempotent producers, a group of two, and the record of what they saw. */
export class Load {
  readonly history = new History()
  /** Of the clients. */
  readonly machines: Machine[] = []
  readonly #sim: Sim
  readonly #cluster: SimCluster
  readonly #producers: IdempotentProducer[] = []
  readonly #members: GroupMember[] = []
  readonly #mayLose: boolean
  #sending: Promise<unknown> = Promise.resolve()
  #isOver = false

  constructor(sim: Sim, cluster: SimCluster, { mayLose = false }: LoadOptions = {}) {
    this.#sim = sim
    this.#cluster = cluster
    this.#mayLose = mayLose
  }

  /** Creates the topic and begins to send and to read. */
  async start(configs: Readonly<Record<string, string>>): Promise<void> {
    await this.#cluster.createTopic(this.#client('admin'), { name: TOPIC, partitions: PARTITIONS, configs })
    const { history } = this
    const toleratesLoss = this.#mayLose
    for (const name of ['anna', 'bert']) {
      const producer = new IdempotentProducer({
        name,
        topic: TOPIC,
        partitions: PARTITIONS,
        client: this.#client(name),
        history,
        toleratesLoss,
      })
      await producer.start()
      this.#producers.push(producer)
    }
    for (const name of ['carl', 'dora']) {
      const client = this.#client(name)
      const member = new GroupMember({ name, group: GROUP, topic: TOPIC, client, history, toleratesLoss })
      member.start()
      this.#members.push(member)
    }
    this.#sending = Promise.all(this.#producers.map((producer) => this.#keepSending(producer)))
  }

  /** A consumer outside any group that reads every partition from its first offset, for as long as the run lasts. */
  addReader(): void {
    const name = `reader-${this.machines.length}`
    const client = this.#client(name)
    for (let partition = 0; partition < PARTITIONS; partition++) {
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
    while (!this.#isOver) {
      const count = 1 + random.below(random.chance(0.1) ? 50 : 5)
      if (producer.pending < UNACKNOWLEDGED_MAX) producer.send(random.below(PARTITIONS), count)
      await this.#sim.runFor(random.float() * (random.chance(0.1) ? 500 : 60))
    }
  }

  /**
   * To be called when everything is healed: sending stops, and progress is demanded. All that was sent must be
   * acknowledged, all that was acknowledged must be read by the group; then everything is read back and judged.
   */
  async settleAndJudge(): Promise<void> {
    const [sim, history] = [this.#sim, this.history]
    const withinMs = SETTLED_WITHIN_MS
    this.#isOver = true
    await this.#sending
    const isAcknowledged = () => this.#producers.every(({ pending }) => pending === 0)
    await sim.until(isAcknowledged, { withinMs, what: 'every send is acknowledged' })
    const isRead = () => nothingUnseen(history, GROUP).length === 0
    if (!this.#mayLose)
      await sim.until(isRead, { withinMs, everyMs: 500, what: 'the group has read everything acknowledged' })
    const leaving = Promise.all(this.#members.map((member) => member.stop()))
    await sim.within(leaving, { withinMs, what: 'the members leave' })
    const reader = this.#client('reader')
    for (let partition = 0; partition < PARTITIONS; partition++) {
      await sim.within(readWhole(reader, history, { topic: TOPIC, partition }), {
        withinMs,
        what: 'reading it all back',
      })
    }
    assertHistory(history)
  }
}

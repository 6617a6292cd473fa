import { HistoryError } from '../../src/sim/history/check.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { commitOffset, committedOffset, createTopic, metadata } from '../support/wire-calls.ts'

const group = 'crash'

/** What a cluster confirmed beside records: a group's offset and topics. All of it must outlive a crash. */
export class Promises {
  readonly #cluster: Cluster
  readonly #topic: string
  #committed = -1
  readonly #created: string[] = []

  constructor(cluster: Cluster, topic: string) {
    this.#cluster = cluster
    this.#topic = topic
  }

  async commit(offset: number): Promise<void> {
    const place = { group, topic: this.#topic, partition: 0 }
    await this.#cluster.askCoordinator(group, (wire) => commitOffset(wire, { ...place, offset }))
    this.#committed = offset
  }

  async create(topic: string): Promise<void> {
    await this.#cluster.ask((wire) => createTopic(wire, topic, 1, {}, this.#cluster.nodes.length))
    this.#created.push(topic)
  }

  /** Throws `HistoryError` when something confirmed is not so any more. */
  async check(): Promise<void> {
    const place = { group, topic: this.#topic, partition: 0 }
    const found = await this.#cluster.askCoordinator(group, (wire) => committedOffset(wire, place))
    if (found !== this.#committed) {
      throw new HistoryError([{ rule: 'H13', message: `the group committed ${this.#committed}, ${found} is left` }])
    }
    const newest = this.#created.at(-1)
    if (newest === undefined) return
    const [entry] = (await this.#cluster.ask((wire) => metadata(wire, [newest]))).topics
    if (entry === undefined || entry.errorCode === 3) {
      throw new HistoryError([{ rule: 'I12', message: `topic ${newest} was created and is gone` }])
    }
  }
}

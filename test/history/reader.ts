import { fetch, listOffset } from '../support/wire-calls.ts'
import type { WireRecord } from '../support/wire-batch.ts'
import type { Wire } from '../support/wire.ts'
import { judge } from './judge.ts'
import type { Ledger, Reading } from './ledger.ts'

/** Records judged together. */
const WINDOW_RECORDS = 50_000

/** Runs `call` on a connection to the leader of the partition, again while the cluster says to try again. */
export type AskLeader = <T>(topic: string, partition: number, call: (wire: Wire) => Promise<T>) => Promise<T>

/** Says which of the run's records this is. */
export type Recognize = (record: WireRecord) => Pick<Reading, 'producer' | 'number' | 'intact'>

/** Reads a topic over bare sockets and has everything judged that it sees. */
export class TopicReader {
  readonly #ledger: Ledger
  readonly #ask: AskLeader
  readonly #recognize: Recognize

  constructor(ledger: Ledger, ask: AskLeader, recognize: Recognize) {
    this.#ledger = ledger
    this.#ask = ask
    this.#recognize = recognize
  }

  /** Reads what is new, and the last `again` records that were read before: what was visible once must stay. */
  async readNew(again: number): Promise<void> {
    for (const [index, { readId }] of this.#ledger.partitions.entries()) {
      await this.#read(index, Math.max(0, readId.length - again))
    }
  }

  /** Once more from the beginning. */
  async readAll(): Promise<void> {
    await this.readNew(Number.MAX_SAFE_INTEGER)
  }

  async #read(partition: number, from: number): Promise<void> {
    const { topic } = this.#ledger
    const askedMs = Date.now()
    const end = await this.#ask(topic, partition, (wire) => listOffset(wire, { topic, partition, timestamp: -1 }))
    let offset = from
    do {
      const to = Math.min(end, offset + WINDOW_RECORDS)
      const records: Reading[] = []
      for (let at = offset; at < to; ) at = await this.#fetch(partition, at, to, records)
      judge(this.#ledger, { partition, from: offset, to, records, askedMs: to === end ? askedMs : null })
      offset = to
    } while (offset < end)
  }

  /** Returns the offset to go on at. */
  async #fetch(partition: number, offset: number, to: number, into: Reading[]): Promise<number> {
    const { topic } = this.#ledger
    const answer = await this.#ask(topic, partition, (wire) => fetch(wire, { topic, partition, offset }))
    for (const record of answer.records) {
      if (record.offset >= to) return to
      into.push({ offset: record.offset, sentMs: record.timestampMs, ...this.#recognize(record) })
    }
    // Below the end there is always something; what is left out is for the judge to see.
    if (answer.nextOffset === offset) return to
    return answer.nextOffset
  }
}

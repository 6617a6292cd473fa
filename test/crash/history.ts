import { retried } from '../support/retry.ts'
import { fetch, listOffset } from '../support/wire-calls.ts'
import type { Acknowledged } from './load.ts'

/** What was promised is not so. */
export class Violation extends Error {
  override name = 'Violation'
}

/**
 * All that was ever read from the topic, checked against itself, the producer's numbering and its acknowledgements.
 * Partition p must hold the numbers p, p + P, p + 2P, … without gap and without repetition.
 */
export class History {
  /** By partition, the number at each offset. */
  readonly #numbers: number[][]
  #checkedAcks = 0
  #address: string
  #topic: string

  constructor(address: string, topic: string, partitions: number) {
    this.#address = address
    this.#topic = topic
    this.#numbers = Array.from({ length: partitions }, () => [])
  }

  get records(): number {
    return this.#numbers.reduce((sum, numbers) => sum + numbers.length, 0)
  }

  /** Reads what is new, and the last `again` records that were read before: what was visible once must stay. */
  async readNew(again: number): Promise<void> {
    for (const [partition, numbers] of this.#numbers.entries()) {
      await this.#read(partition, Math.max(0, numbers.length - again))
    }
  }

  async #read(partition: number, from: number): Promise<void> {
    const numbers = this.#numbers[partition] as number[]
    const topic = this.#topic
    await retried(this.#address, async (wire) => {
      const end = await listOffset(wire, { topic, partition, timestamp: -1 })
      if (end < numbers.length) {
        throw new Violation(`partition ${partition} ends at ${end}; offset ${numbers.length - 1} was read before`)
      }
      let offset = from
      while (offset < end) {
        const answer = await fetch(wire, { topic, partition, offset })
        for (const record of answer.records) {
          if (record.offset !== offset)
            throw new Violation(`${partition}: offset ${record.offset} where ${offset} was due`)
          this.#take(partition, offset, Number.parseInt(record.value?.toString('latin1') ?? '', 10))
          offset++
        }
        if (answer.records.length === 0) throw new Violation(`${partition}: nothing at ${offset} below the end ${end}`)
      }
    })
  }

  #take(partition: number, offset: number, number: number): void {
    const numbers = this.#numbers[partition] as number[]
    const known = numbers[offset]
    if (known !== undefined && known !== number) {
      throw new Violation(`${partition}/${offset} held record ${known} and now holds ${number}`)
    }
    const due = partition + offset * this.#numbers.length
    if (number !== due) {
      throw new Violation(
        `${partition}/${offset} holds record ${number}, ${number < due ? 'twice' : 'past a lost one'} (${due} was due)`,
      )
    }
    numbers[offset] = number
  }

  /** Every acknowledged record is where its acknowledgement said. To be called after a read. */
  checkAcknowledged(acknowledged: readonly Acknowledged[], until: number): void {
    for (; this.#checkedAcks < until; this.#checkedAcks++) {
      const { partition, offset, number } = acknowledged[this.#checkedAcks] as Acknowledged
      const at = Math.floor(number / this.#numbers.length)
      if (this.#numbers[partition]?.[at] !== number) {
        throw new Violation(
          `acknowledged record ${number} is lost: partition ${partition} has ${this.#numbers[partition]?.length} records`,
        )
      }
      if (offset >= 0 && offset !== at)
        throw new Violation(`record ${number} was acknowledged at ${offset}, is at ${at}`)
    }
  }
}

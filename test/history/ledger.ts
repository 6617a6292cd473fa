import { Column, NONE } from './column.ts'

/** An acknowledgement as a producer's process reported it. */
export interface Ack {
  /** Which of the run's producers. */
  readonly producer: number
  /** The producer's own count of its records, from 0. */
  readonly number: number
  readonly partition: number
  /** -1 when the client was told only that the record is there. */
  readonly offset: number
  /** Wall clock of this machine, which all processes share. */
  readonly atMs: number
}

/** A record as it was read. */
export interface Reading {
  readonly offset: number
  /** -1 for a value that none of the run's producers writes. */
  readonly producer: number
  readonly number: number
  /** When it was sent: the record's own timestamp. */
  readonly sentMs: number
  /** Key and value are what the producer sent under this number. */
  readonly intact: boolean
}

/** A record and its place, and when it was sent and acknowledged. */
export interface Placed {
  readonly id: number
  readonly partition: number
  readonly offset: number
  readonly ackedMs: number
}

const PRODUCER_UNIT = 2 ** 32
const PARTITION_UNIT = 2 ** 40

/** Producer and number in one number. */
export function idOf({ producer, number }: { producer: number; number: number }): number {
  return producer * PRODUCER_UNIT + number
}

export function nameOf(id: number): string {
  return `${Math.floor(id / PRODUCER_UNIT)}.${id % PRODUCER_UNIT}`
}

export function producerOf(id: number): number {
  return Math.floor(id / PRODUCER_UNIT)
}

/** What one partition's clients were told and have seen, by offset. */
export class PartitionLedger {
  readonly ackedId = new Column()
  readonly ackedMs = new Column()
  readonly readId = new Column()
  readonly sentMs = new Column()
  /** Acknowledgements of an offset that another record was acknowledged at before. */
  readonly conflicts: Placed[] = []
  /** By id, records that are there somewhere, as a producer was told without an offset: when. */
  readonly unplaced = new Map<number, number>()
}

/**
 * All that a run's producers were told and its readers have seen of one topic. It judges nothing; `judge.ts` makes
 * histories of it, which the checkers of the simulator judge.
 */
export class Ledger {
  readonly topic: string
  readonly partitions: readonly PartitionLedger[]
  /** By producer, the place of each number: where acknowledged, where read first. */
  readonly #ackedAt: Column[] = []
  readonly #readAt: Column[] = []
  acknowledged = 0
  /** Different records read. */
  read = 0

  constructor(topic: string, partitions: number) {
    this.topic = topic
    this.partitions = Array.from({ length: partitions }, () => new PartitionLedger())
  }

  partition(index: number): PartitionLedger {
    const partition = this.partitions[index]
    if (partition === undefined) throw new Error(`${this.topic} has no partition ${index}`)
    return partition
  }

  acked(ack: Ack): void {
    this.acknowledged++
    const { partition: index, offset, atMs } = ack
    const partition = this.partition(index)
    const id = idOf(ack)
    if (offset < 0) {
      if (placeIn(this.#readAt, id) === NONE) partition.unplaced.set(id, atMs)
      return
    }
    const before = partition.ackedId.get(offset)
    if (before !== NONE && before !== id) partition.conflicts.push({ id, partition: index, offset, ackedMs: atMs })
    else {
      partition.ackedId.set(offset, id)
      partition.ackedMs.set(offset, atMs)
    }
    putIn(this.#ackedAt, id, index * PARTITION_UNIT + offset)
  }

  noteRead(index: number, reading: Reading): void {
    const partition = this.partition(index)
    const id = idOf(reading)
    partition.readId.set(reading.offset, id)
    partition.sentMs.set(reading.offset, reading.sentMs)
    partition.unplaced.delete(id)
    if (placeIn(this.#readAt, id) !== NONE) return
    putIn(this.#readAt, id, index * PARTITION_UNIT + reading.offset)
    this.read++
  }

  /** The share of all records read that were acknowledged within each of these times of being sent. */
  delays(limitsMs: readonly number[]): number[] {
    const within = limitsMs.map(() => 0)
    let all = 0
    for (const { ackedMs, sentMs } of this.partitions) {
      for (let offset = 0; offset < ackedMs.length; offset++) {
        if (ackedMs.get(offset) === NONE || sentMs.get(offset) === NONE) continue
        all++
        const delay = ackedMs.get(offset) - sentMs.get(offset)
        for (const [index, limit] of limitsMs.entries()) if (delay <= limit) within[index] = (within[index] ?? 0) + 1
      }
    }
    return within.map((count) => count / all)
  }

  ackedPlace(id: number): { partition: number; offset: number } | null {
    return placeOf(placeIn(this.#ackedAt, id))
  }

  /** Where it was read first. */
  readPlace(id: number): { partition: number; offset: number } | null {
    return placeOf(placeIn(this.#readAt, id))
  }
}

function columnOf(columns: Column[], id: number): Column {
  const producer = producerOf(id)
  return (columns[producer] ??= new Column())
}

function placeIn(columns: Column[], id: number): number {
  return id < 0 ? NONE : columnOf(columns, id).get(id % PRODUCER_UNIT)
}

function putIn(columns: Column[], id: number, place: number): void {
  if (id >= 0) columnOf(columns, id).set(id % PRODUCER_UNIT, place)
}

function placeOf(place: number): { partition: number; offset: number } | null {
  if (place === NONE) return null
  return { partition: Math.floor(place / PARTITION_UNIT), offset: place % PARTITION_UNIT }
}

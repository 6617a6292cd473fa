import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HistoryError } from '../../src/sim/history/check.ts'
import { judge } from './judge.ts'
import { Ledger, type Reading } from './ledger.ts'

/** A run of two partitions that went well, with room to spoil it: producer 0 sends to both in turns. */
class Run {
  readonly ledger = new Ledger('orders', 2)
  readonly logs: Reading[][] = [[], []]
  #nowMs = 1000
  #number = 0

  /** Sent and appended; acknowledged as told. */
  produce(partition: number, ack: 'with offset' | 'without offset' | 'none' = 'with offset'): Reading {
    const reading = this.append(partition, { number: this.#number++, sentMs: this.#nowMs })
    this.#nowMs += 10
    const { number, offset } = reading
    if (ack === 'none') return reading
    this.acked(partition, ack === 'with offset' ? offset : -1, number)
    return reading
  }

  append(partition: number, reading: Partial<Reading>): Reading {
    const log = this.logs[partition] as Reading[]
    const whole = { producer: 0, number: 0, sentMs: 0, intact: true, ...reading, offset: log.length }
    log.push(whole)
    return whole
  }

  acked(partition: number, offset: number, number: number): void {
    this.ledger.acked({ producer: 0, number, partition, offset, atMs: this.#nowMs - 5 })
  }

  read(partition: number, from = 0): void {
    const records = (this.logs[partition] as Reading[]).slice(from)
    const to = from + records.length
    judge(this.ledger, { partition, from, to, records, askedMs: this.#nowMs++ })
  }
}

function broken(rules: string[], spoil: (run: Run) => void): void {
  const run = new Run()
  const rulesOf = () => {
    try {
      spoil(run)
      return []
    } catch (error) {
      if (!(error instanceof HistoryError)) throw error
      return [...new Set(error.violations.map(({ rule }) => rule))].sort()
    }
  }
  assert.deepEqual(rulesOf(), rules)
}

test('a good run is good however its reads are cut, also where a producer was told no offset', () => {
  broken([], (run) => {
    for (let round = 0; round < 20; round++) {
      run.produce(round % 2, round % 5 === 0 ? 'without offset' : 'with offset')
      run.produce(1, 'none')
      if (round % 3 === 0) run.read(1, Math.max(0, (run.ledger.partitions[1]?.readId.length ?? 0) - round))
    }
    for (const partition of [0, 1]) run.read(partition)
    assert.equal(run.ledger.read, 40)
  })
})

test('acknowledged records that are gone from the end, with and without an offset', () => {
  for (const ack of ['with offset', 'without offset'] as const) {
    broken(['H1', 'H12'], (run) => {
      run.produce(0)
      run.produce(0, ack)
      run.logs[0]?.pop()
      run.read(0)
    })
  }
})

test('an end that went back behind what was read before', () => {
  broken(['H12'], (run) => {
    run.produce(0, 'none')
    run.read(0)
    run.logs[0]?.pop()
    run.read(0)
  })
})

test('another record where one was read before', () => {
  broken(['H2'], (run) => {
    run.produce(0, 'none')
    run.read(0)
    run.logs[0] = []
    run.append(0, { number: 7, sentMs: 2000 })
    run.read(0)
  })
})

test('a record there twice, also when the first place was read long ago', () => {
  broken(['H3'], (run) => {
    const first = run.produce(0)
    run.produce(0)
    run.read(0)
    run.append(0, { number: first.number, sentMs: first.sentMs })
    run.read(0, 2)
  })
})

test('a record of partition 0 in partition 1', () => {
  broken(['H3', 'H4'], (run) => {
    const first = run.produce(0)
    run.read(0)
    run.append(1, { number: first.number, sentMs: first.sentMs })
    run.read(1)
  })
})

test('a retry acknowledged at another offset than its record has', () => {
  broken(['H1', 'H2', 'H3'], (run) => {
    const first = run.produce(0)
    run.produce(0, 'none')
    run.acked(0, 1, first.number)
    run.read(0)
  })
})

test('records of one producer that changed places, read in two parts', () => {
  broken(['H10'], (run) => {
    run.append(0, { number: 1, sentMs: 990 })
    run.acked(0, 0, 1)
    run.read(0)
    run.append(0, { number: 0, sentMs: 900 })
    run.acked(0, 1, 0)
    run.read(0, 1)
  })
})

test('bytes that nobody sent, and bytes that changed', () => {
  broken(['H4'], (run) => {
    run.append(0, { producer: -1, number: -1, intact: false })
    run.read(0)
  })
  broken(['H4'], (run) => {
    run.logs[0] = [{ ...run.produce(0), intact: false }]
    run.read(0)
  })
})

test('an offset left out', () => {
  broken(['H1', 'H8'], (run) => {
    run.produce(0)
    run.produce(0)
    run.read(0)
    run.logs[0]?.shift()
    judge(run.ledger, { partition: 0, from: 0, to: 2, records: run.logs[0] as Reading[], askedMs: 5000 })
  })
})

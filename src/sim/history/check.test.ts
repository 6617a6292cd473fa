import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import { assertHistory, checkHistory } from './check.ts'
import { History, type Send } from './history.ts'
import { nothingUnseen } from './offsets.ts'

const P = 'orders-0'
const HOUR_MS = 3_600_000

/** A history as a perfect broker would give it, with room for a test to spoil it. */
class Forger {
  readonly history = new History()
  readonly log: Send[] = []
  readonly partition: string
  /** Of the leader that answers. */
  epoch = 1
  #sent = 0

  constructor(partition = P) {
    this.partition = partition
  }

  send(producer = 'p1', more: Partial<Send> = {}): Send {
    const id = `${producer}/${this.partition}/${++this.#sent}`
    const { partition } = this
    return this.history.send({ id, producer, partition, digest: this.#sent, timestampMs: 1000, ...more })
  }

  append(send: Send): number {
    return this.log.push(send) - 1
  }

  /** Sent, appended and acknowledged. */
  produce(producer = 'p1', more: Partial<Send> = {}): Send {
    const send = this.send(producer, more)
    this.history.acked(send, this.append(send))
    return send
  }

  records(from: number, to: number) {
    return this.log.slice(from, to).map(({ id, digest }, i) => ({ offset: from + i, epoch: this.epoch, id, digest }))
  }

  poll(
    from: number,
    to: number,
    options: { consumer?: string; continues?: boolean; group?: string | null } = {},
  ): void {
    const { consumer = 'c1', continues = true, group = null } = options
    const records = this.records(from, to)
    this.history.read({ consumer, group, partition: this.partition, from, to, records, continues })
  }

  bounds(start: number | null, end: number | null, wallMs = 2000, source: 'list' | 'fetch' = 'list'): void {
    const invoked = this.history.moment()
    this.history.bounds.push({
      source,
      partition: this.partition,
      start,
      end,
      epoch: this.epoch,
      wallMs,
      invoked,
      completed: this.history.moment(),
    })
  }

  commit(offset: number, outcome: 'acked' | 'refused' | 'unknown' = 'acked', generation = 1): void {
    const commit = this.history.commit({ group: 'g', member: 'm', generation, partition: this.partition, offset })
    this.history.committed(commit, outcome)
  }

  answer(offset: number | null): void {
    const invoked = this.history.moment()
    this.history.offsetAnswers.push({
      group: 'g',
      partition: this.partition,
      offset,
      invoked,
      completed: this.history.moment(),
    })
  }

  lookUp(timestampMs: number, offset: number | null): void {
    const [{ partition, epoch }, invoked] = [this, this.history.moment()]
    this.history.timeAnswers.push({ partition, timestampMs, offset, epoch, invoked })
  }

  finish(start = 0): History {
    const end = this.log.length
    this.history.finalReads.push({ partition: this.partition, start, end, records: this.records(start, end) })
    return this.history
  }
}

function rules(history: History): string[] {
  return [...new Set(checkHistory(history).map(({ rule }) => rule))].sort()
}

/** Forges a history, and demands that exactly these rules are broken. */
function forged(name: string, expected: string[], forge: (forger: Forger) => History): void {
  test(`${expected.join(' and ') || 'good'}: ${name}`, () => assert.deepEqual(rules(forge(new Forger())), expected))
}

test('good: whatever a perfect broker does, with retries, refusals, lost answers and rebalances', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = new Random(seed)
    const forger = new Forger()
    let position = 0
    let committed: number | null = null
    for (let step = 0; step < 200; step++) {
      const producer = random.pick(['p1', 'p2'])
      const roll = random.below(10)
      if (roll < 3) forger.produce(producer)
      else if (roll === 3) forger.history.notAcked(forger.send(producer), 'refused')
      else if (roll === 4) {
        const send = forger.send(producer)
        if (random.chance(0.5)) forger.append(send)
        forger.history.notAcked(send, 'unknown')
      } else if (roll < 7) {
        const to = random.between(position, forger.log.length)
        forger.poll(position, to)
        position = to
      } else if (roll === 7) {
        forger.commit(position)
        committed = position
      } else if (roll === 8) forger.answer(committed)
      else {
        forger.bounds(0, forger.log.length)
        position = committed ?? 0
        forger.poll(position, position, { continues: false })
      }
    }
    assert.deepEqual(checkHistory(forger.finish()), [])
  }
})

forged('an acknowledged record is not there at the end', ['H1'], (f) => {
  f.produce()
  f.log.pop()
  return f.finish()
})

forged('an acknowledged record gave its place to another', ['H1', 'H2'], (f) => {
  f.produce()
  f.log[0] = f.send()
  return f.finish()
})

forged('a reader went past a record that was acknowledged', ['H1', 'H8'], (f) => {
  f.produce()
  f.produce()
  f.history.read({
    consumer: 'c',
    group: null,
    partition: P,
    from: 0,
    to: 2,
    records: f.records(1, 2),
    continues: true,
  })
  return f.finish()
})

forged('what DeleteRecords removed is not lost', [], (f) => {
  f.produce()
  f.produce()
  f.history.deletions.push({ partition: P, before: 1, invoked: f.history.moment() })
  f.bounds(1, 2)
  return f.finish(1)
})

forged('two readers saw different records at one offset', ['H2'], (f) => {
  const [one, other] = [f.send(), f.send()]
  f.append(one)
  f.poll(0, 1, { consumer: 'c1' })
  f.log[0] = other
  f.poll(0, 1, { consumer: 'c2' })
  return f.history
})

forged('a retry was appended a second time', ['H3'], (f) => {
  f.append(f.produce())
  return f.finish()
})

forged('the ack of a retry told another offset', ['H1', 'H3'], (f) => {
  f.produce()
  const send = f.send()
  f.append(send)
  f.history.acked(send, 7)
  return f.finish()
})

forged('a record that nobody sent', ['H4'], (f) => {
  f.append({ ...f.send(), id: 'ghost' })
  return f.finish()
})

forged('a record with other bytes', ['H4'], (f) => {
  f.append({ ...f.produce(), digest: 666 })
  f.log.shift()
  return f.finish()
})

forged('a record in a partition it was not sent to', ['H4'], (f) => {
  const other = new Forger('orders-1')
  f.history.sends.push(other.send())
  f.append(f.history.sends[0] as Send)
  return f.finish()
})

forged('a poll that leaves out a record others see', ['H8'], (f) => {
  const send = f.send()
  f.append(send)
  f.history.read({ consumer: 'c', group: null, partition: P, from: 0, to: 1, records: [], continues: true })
  return f.finish()
})

forged('a poll whose offsets go back', ['H8'], (f) => {
  f.produce()
  f.produce()
  const records = f.records(0, 2).reverse()
  f.history.read({ consumer: 'c', group: null, partition: P, from: 0, to: 2, records, continues: true })
  return f.finish()
})

forged('a poll that skips', ['H9'], (f) => {
  for (let i = 0; i < 4; i++) f.produce()
  f.poll(0, 1)
  f.poll(2, 4)
  return f.finish()
})

forged('a poll that goes back without a seek', ['H9'], (f) => {
  for (let i = 0; i < 4; i++) f.produce()
  f.poll(0, 3)
  f.poll(1, 4)
  return f.finish()
})

forged('a poll that goes back after a rebalance', [], (f) => {
  for (let i = 0; i < 4; i++) f.produce()
  f.poll(0, 3)
  f.poll(1, 4, { continues: false })
  return f.finish()
})

forged("one producer's records changed places", ['H10'], (f) => {
  const [first, second] = [f.send(), f.send()]
  f.history.acked(second, f.append(second))
  f.history.acked(first, f.append(first))
  return f.finish()
})

forged("two producers' records may lie either way", [], (f) => {
  const [first, second] = [f.send('p1'), f.send('p2')]
  f.history.acked(second, f.append(second))
  f.history.acked(first, f.append(first))
  return f.finish()
})

forged('a record sent after an ack lies before it', ['H11'], (f) => {
  const held = f.send('p1')
  f.log.push(held, held)
  f.log.length = 1
  const early = f.send('p2')
  f.append(early)
  f.history.acked(early, 1)
  const late = f.send('p3')
  f.log[0] = late
  f.history.acked(late, 0)
  return f.finish()
})

forged('the end of a partition went back', ['H12'], (f) => {
  const send = f.send()
  f.append(send)
  f.bounds(0, 1)
  f.bounds(0, 0)
  return f.finish()
})

forged('the end of a partition does not cover an acknowledged record', ['H12'], (f) => {
  f.produce()
  f.bounds(0, 0)
  return f.finish()
})

forged('a leader that is cut off tells the end of its own epoch', [], (f) => {
  f.epoch = 2
  f.produce()
  f.bounds(0, 1)
  f.epoch = 1
  f.bounds(0, 0)
  f.epoch = 2
  return f.finish()
})

forged('a new leader tells less than the old one did', ['H12'], (f) => {
  f.append(f.send())
  f.bounds(0, 1)
  f.epoch = 2
  f.bounds(0, 0)
  return f.finish()
})

forged('a new leader does not know all of what is committed yet, and says so in a fetch', [], (f) => {
  f.append(f.send())
  f.bounds(0, 1)
  f.epoch = 2
  f.bounds(0, 0, 2000, 'fetch')
  return f.finish()
})

forged('the high watermark of a leader went back', ['H12'], (f) => {
  f.append(f.send())
  for (const end of [1, 0]) f.bounds(0, end, 2000, 'fetch')
  return f.finish()
})

forged('a committed offset is forgotten', ['H13'], (f) => {
  f.commit(3)
  f.answer(null)
  return f.history
})

forged('a committed offset went back to the one before', ['H13'], (f) => {
  f.commit(3)
  f.commit(5)
  f.answer(3)
  return f.history
})

forged('an offset that nobody committed', ['H13'], (f) => {
  f.commit(3)
  f.answer(4)
  return f.history
})

forged('a refused commit took effect', ['H13'], (f) => {
  f.commit(3)
  f.commit(9, 'refused')
  f.answer(9)
  return f.history
})

forged('a commit without an answer may have taken effect, or not, or later', [], (f) => {
  f.answer(null)
  f.commit(3, 'unknown')
  f.answer(null)
  f.answer(3)
  f.commit(5)
  f.answer(5)
  f.answer(3)
  return f.history
})

forged('a commit of an older generation took effect late', ['H13'], (f) => {
  f.commit(3, 'unknown', 1)
  f.commit(5, 'acked', 2)
  f.answer(3)
  return f.history
})

forged('two members own a partition in one generation', ['H14'], (f) => {
  for (const member of ['m', 'n']) f.history.assigned({ group: 'g', member, generation: 2, partitions: [P] })
  return f.history
})

forged('a member of an older generation could still commit', ['H14'], (f) => {
  f.history.assigned({ group: 'g', member: 'n', generation: 2, partitions: [P] })
  f.commit(3, 'acked', 1)
  return f.history
})

forged('partitions change hands from one generation to the next', [], (f) => {
  f.history.assigned({ group: 'g', member: 'm', generation: 1, partitions: [P] })
  f.commit(3, 'acked', 1)
  f.history.assigned({ group: 'g', member: 'n', generation: 2, partitions: [P] })
  f.commit(4, 'refused', 1)
  f.commit(5, 'acked', 2)
  return f.history
})

forged('the start moved although nothing was to be removed', ['H20'], (f) => {
  f.produce()
  f.bounds(1, 1)
  return f.finish(1)
})

forged('the start moved further than DeleteRecords asked', ['H20'], (f) => {
  for (let i = 0; i < 3; i++) f.produce()
  f.history.deletions.push({ partition: P, before: 1, invoked: f.history.moment() })
  f.bounds(2, 3)
  return f.finish(2)
})

forged('retention removed a record before its time', ['H20'], (f) => {
  f.history.policies.set(P, { retentionMs: HOUR_MS })
  f.produce()
  f.bounds(1, 1, 1000 + HOUR_MS - 1)
  return f.finish(1)
})

forged('retention removed a record in its time', [], (f) => {
  f.history.policies.set(P, { retentionMs: HOUR_MS })
  f.produce()
  f.bounds(1, 1, 1000 + HOUR_MS)
  return f.finish(1)
})

forged('the start lies behind the end', ['H20'], (f) => {
  f.history.policies.set(P, { retentionMs: 1 })
  f.bounds(1, 0, HOUR_MS)
  return f.history
})

forged('a refused record was appended all the same', ['H22'], (f) => {
  const send = f.send()
  f.append(send)
  f.history.notAcked(send, 'refused')
  return f.finish()
})

forged('a record that was refused with too few copies is read by a follower of the next leader', ['H22'], (f) => {
  f.produce()
  const send = f.send()
  f.history.notAcked(send, 'refused')
  f.append(send)
  f.poll(0, 2)
  return f.finish()
})

forged('what only the leader had may be gone with it, and its offset given to another', [], (f) => {
  f.produce('p1', { acks: 'leader' })
  f.log.pop()
  f.produce('p2')
  return f.finish()
})

forged('what only the leader had was read, and is gone', ['H1', 'H2'], (f) => {
  f.produce('p1', { acks: 'leader' })
  f.poll(0, 1)
  f.log.pop()
  f.produce('p2')
  return f.finish()
})

forged('a look-up by time went past an earlier record', ['H18'], (f) => {
  for (const timestampMs of [10, 20, 30]) f.produce('p1', { timestampMs })
  f.lookUp(15, 2)
  return f.finish()
})

forged('a look-up by time stopped at a record that is too old', ['H18'], (f) => {
  for (const timestampMs of [10, 20, 30]) f.produce('p1', { timestampMs })
  f.lookUp(25, 1)
  return f.finish()
})

forged('a look-up by time found nothing where something was acknowledged', ['H18'], (f) => {
  f.produce('p1', { timestampMs: 10 })
  f.lookUp(5, null)
  return f.finish()
})

forged('a look-up by time need not find what was not acknowledged yet, nor what is gone', [], (f) => {
  f.produce('p1', { timestampMs: 10 })
  f.history.deletions.push({ partition: P, before: 1, invoked: f.history.moment() })
  const late = f.send('p1', { timestampMs: 30 })
  f.lookUp(20, null)
  f.lookUp(5, 1)
  f.history.acked(late, f.append(late))
  f.lookUp(20, 1)
  return f.finish(1)
})

forged('two leaders in one epoch', ['I5'], (f) => {
  for (const leader of [1, 2]) f.history.leaderAnswers.push({ partition: P, leader, epoch: 4 })
  return f.history
})

forged('one leader after the other', [], (f) => {
  for (const leader of [1, 1, 2]) f.history.leaderAnswers.push({ partition: P, leader, epoch: 3 + leader })
  return f.history
})

forged('a mode that may lose to a power cut lost only what was acknowledged shortly before', [], (f) => {
  f.produce()
  const from = f.history.moment()
  f.produce()
  f.history.powerCut(from)
  f.log.pop()
  f.produce('p2')
  return f.finish()
})

forged('a mode that may lose to a power cut lost what was acknowledged long before', ['H1'], (f) => {
  f.produce()
  const from = f.history.moment()
  f.history.powerCut(from)
  f.log.pop()
  f.produce('p2')
  return f.finish()
})

forged('a mode that must not lose to a power cut did', ['H1'], (f) => {
  f.produce()
  f.history.powerCut(null)
  f.log.pop()
  return f.finish()
})

test('H23: what a group has not read is told by record', () => {
  const forger = new Forger()
  for (let i = 0; i < 3; i++) forger.produce()
  forger.poll(0, 2, { group: 'g' })
  forger.poll(0, 3, { consumer: 'c2' })
  const violations = nothingUnseen(forger.history, 'g')
  assert.deepEqual(
    violations.map(({ rule }) => rule),
    ['H23'],
  )
  assert.match(violations[0]?.message ?? '', /p1\/orders-0\/3 at orders-0:2/)
  assert.throws(() => assertHistory(forger.finish(), violations), /broken promises: H23/)
})

import { assertHistory } from '../../src/sim/history/check.ts'
import { History, type ReadRecord, type Send } from '../../src/sim/history/history.ts'
import { NONE } from './column.ts'
import { idOf, type Ledger, nameOf, type PartitionLedger, type Placed, producerOf, type Reading } from './ledger.ts'

/** Part of a partition that was just read, from its leader, without a gap as far as the broker showed one. */
export interface Window {
  readonly partition: number
  readonly from: number
  readonly to: number
  readonly records: readonly Reading[]
  /** Set for the last part, up to the end that the leader told: when it was asked. What was acknowledged by then must be there. */
  readonly askedMs: number | null
}

/** A moment is a time in ms; an acknowledgement is told in the middle of its millisecond, so equal ones prove no order. */
const HALF_MS = 0.5

/**
 * Judges what was read by the checkers of the simulator, against all acknowledgements and all that was read before, and
 * then keeps it in the ledger. Throws `HistoryError`.
 *
 * A whole run would be too much to judge at once, so each window becomes a history of its own, with what other windows know of
 * its records: where else one was read or acknowledged, and the newest record of each producer before it.
 */
export function judge(ledger: Ledger, window: Window): void {
  assertHistory(historyOf(ledger, window))
  for (const reading of window.records) ledger.noteRead(window.partition, reading)
}

function historyOf(ledger: Ledger, window: Window): History {
  const history = new History()
  const name = `${ledger.topic}-${window.partition}`
  const own = ledger.partition(window.partition)
  const records = window.records.map(toRecord)
  const { from, to } = window
  history.read({ consumer: 'reader', group: null, partition: name, from, to, records, continues: false })
  history.finalReads.push({ partition: name, start: from, end: to, records })
  addEarlierReads(history, ledger, window)
  addBounds(history, name, own, window)

  const sends = new Map<number, number>()
  for (let offset = from; offset < Math.min(to, own.readId.length); offset++) {
    sends.set(own.readId.get(offset), own.sentMs.get(offset))
  }
  for (const reading of window.records) sends.set(idOf(reading), reading.sentMs)
  const acknowledged = acknowledgedIn(ledger, window).map((placed): Send => {
    const sentMs = sends.get(placed.id) ?? sentMsOf(own, placed)
    sends.delete(placed.id)
    const completed = placed.ackedMs + HALF_MS
    return { ...sendOf(name, placed.id, sentMs), completed, outcome: 'acked', offset: placed.offset }
  })
  // A record that no producer of the run writes stays without a send, so that the checker finds it.
  const pending = [...sends]
    .filter(([id]) => id >= 0)
    .map(([id, sentMs]): Send => ({ ...sendOf(name, id, sentMs), completed: null, outcome: 'pending', offset: null }))
  history.sends.push(...[...acknowledged, ...pending].sort(bySending))
  return history
}

/** Records sent within one millisecond are in the order of their numbers. */
function bySending(a: Send, b: Send): number {
  return a.invoked - b.invoked || Number(a.id.split('.')[1]) - Number(b.id.split('.')[1])
}

/** Known from reading it; one that was never read is lost, and when it was sent does not matter any more. */
function sentMsOf(own: PartitionLedger, { id, offset, ackedMs }: Placed): number {
  return own.readId.get(offset) === id ? own.sentMs.get(offset) : ackedMs
}

function sendOf(partition: string, id: number, sentMs: number) {
  return {
    id: nameOf(id),
    producer: String(producerOf(id)),
    partition,
    digest: 0,
    timestampMs: sentMs,
    acks: 'all' as const,
    isRetried: false,
    invoked: sentMs,
  }
}

function toRecord(reading: Reading): ReadRecord {
  const id = reading.producer < 0 ? `foreign@${reading.offset}` : nameOf(idOf(reading))
  return { offset: reading.offset, epoch: EPOCH, id, digest: reading.intact ? 0 : 1 }
}

/** Real clients do not tell who led: every answer is taken for one of the present leader. */
const EPOCH = 0

/** What was read at these offsets before, and these records at other offsets. */
function addEarlierReads(history: History, ledger: Ledger, window: Window): void {
  const own = ledger.partition(window.partition)
  const add = (partition: number, from: number, to: number, records: ReadRecord[]) => {
    const name = `${ledger.topic}-${partition}`
    history.read({ consumer: `earlier-${from}`, group: null, partition: name, from, to, records, continues: false })
  }
  const known: ReadRecord[] = []
  for (let offset = window.from; offset < Math.min(window.to, own.readId.length); offset++) {
    const id = own.readId.get(offset)
    if (id !== NONE) known.push({ offset, epoch: EPOCH, id: nameOf(id), digest: 0 })
  }
  if (known.length > 0) add(window.partition, window.from, (known.at(-1) as ReadRecord).offset + 1, known)
  for (const reading of window.records) {
    const place = ledger.readPlace(idOf(reading))
    if (place === null || (place.partition === window.partition && place.offset === reading.offset)) continue
    const { partition, offset } = place
    add(partition, offset, offset + 1, [{ offset, epoch: EPOCH, id: nameOf(idOf(reading)), digest: 0 }])
  }
}

function addBounds(history: History, partition: string, own: PartitionLedger, window: Window): void {
  if (window.askedMs === null) return
  const bound = (end: number, ms: number) =>
    history.bounds.push({
      source: 'list',
      partition,
      start: null,
      end,
      epoch: EPOCH,
      wallMs: ms,
      invoked: ms,
      completed: ms,
    })
  bound(own.readId.length, 0)
  bound(window.to, window.askedMs)
}

/** Acknowledgements that this window confirms or refutes. */
function acknowledgedIn(ledger: Ledger, window: Window): Placed[] {
  const own = ledger.partition(window.partition)
  const { partition, from, to, askedMs } = window
  const placed = new Map<string, Placed>()
  const add = (each: Placed) => placed.set(`${each.id}@${each.offset}`, each)
  const at = (offset: number): Placed => {
    return { id: own.ackedId.get(offset), partition, offset, ackedMs: own.ackedMs.get(offset) }
  }
  for (let offset = from; offset < to; offset++) if (own.ackedId.get(offset) !== NONE) add(at(offset))
  for (const conflict of own.conflicts) if (conflict.offset >= from) add(conflict)
  for (const each of newestBefore(own, from)) add(at(each))
  for (const reading of window.records) {
    const place = ledger.ackedPlace(idOf(reading))
    if (place === null || place.partition !== partition || (place.offset >= from && place.offset < to)) continue
    add({ id: idOf(reading), partition, offset: place.offset, ackedMs: own.ackedMs.get(place.offset) })
  }
  if (askedMs === null) return [...placed.values()]
  for (let offset = to; offset < own.ackedId.length; offset++) {
    if (own.ackedId.get(offset) !== NONE && own.ackedMs.get(offset) < askedMs) add(at(offset))
  }
  const read = new Set(window.records.map(idOf))
  for (const [id, ackedMs] of own.unplaced) {
    // Acknowledged, and read nowhere up to the end: an offset that nobody can have read it at.
    if (ackedMs < askedMs && !read.has(id)) add({ id, partition, offset: Number.MAX_SAFE_INTEGER, ackedMs })
  }
  return [...placed.values()]
}

/** How far back a producer's newest record is looked for. */
const LOOK_BACK = 5000

/** The offsets of each producer's newest acknowledged record before `from`. */
function newestBefore(own: PartitionLedger, from: number): number[] {
  const newest = new Map<number, number>()
  for (let offset = from - 1; offset >= Math.max(0, from - LOOK_BACK); offset--) {
    const id = own.ackedId.get(offset)
    if (id !== NONE && !newest.has(producerOf(id))) newest.set(producerOf(id), offset)
  }
  return [...newest.values()]
}

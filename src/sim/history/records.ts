import type { History, Read, ReadRecord, Send } from './history.ts'
import { ackedByPartition, groupBy, isPromised, mayBeLost, mayHaveLost, type Violation } from './violation.ts'

/** H1: an acknowledged record is at its offset in the final read, and no reader passed it without seeing it. */
export function noLoss(history: History): Violation[] {
  const violations: Violation[] = []
  const finals = new Map(history.finalReads.map((read) => [read.partition, read]))
  const reads = groupBy(history.reads, (read) => read.partition)
  for (const [partition, sends] of ackedByPartition(history)) {
    const final = finals.get(partition)
    const found = final && new Map(final.records.map(({ offset, id }) => [offset, id]))
    for (const send of sends) {
      const offset = send.offset as number
      if (mayBeLost(history, send)) continue
      if (final && offset >= final.start && found?.get(offset) !== send.id) {
        const instead = found?.get(offset) ?? 'nothing'
        violations.push(
          lost(`${send.id} was acknowledged at ${partition}:${offset}, where ${instead} is read at the end`),
        )
      }
    }
    // A reader may have passed an offset before a power cut made room there for another record.
    if (mayHaveLost(history)) continue
    const byOffset = groupBy(sends, ({ offset }) => offset as number)
    for (const read of reads.get(partition) ?? []) violations.push(...passedOver(read, byOffset))
  }
  return violations
}

function passedOver(read: Read, byOffset: Map<number, Send[]>): Violation[] {
  const violations: Violation[] = []
  const seen = new Map(read.records.map(({ offset, id }) => [offset, id]))
  for (let offset = read.from; offset < read.to; offset++) {
    for (const send of byOffset.get(offset) ?? []) {
      if (seen.get(offset) === send.id) continue
      violations.push(lost(`${read.consumer} read past ${read.partition}:${offset} and did not see ${send.id}`))
    }
  }
  return violations
}

function lost(message: string): Violation {
  return { rule: 'H1', message }
}

/** H2: whatever acks and reads ever said about an offset, they said the same. */
export function oneValue(history: History): Violation[] {
  const violations: Violation[] = []
  const values = new Map<string, Map<number, string>>()
  const say = (partition: string, offset: number, id: string) => {
    const own = values.get(partition) ?? new Map<number, string>()
    values.set(partition, own)
    const before = own.get(offset)
    if (before === undefined) own.set(offset, id)
    else if (before !== id) {
      violations.push({ rule: 'H2', message: `${partition}:${offset} was ${before} and is ${id}` })
    }
  }
  for (const send of history.sends) if (isPromised(send)) say(send.partition, send.offset as number, send.id)
  for (const { partition, records } of allReads(history)) {
    for (const { offset, id } of records) say(partition, offset, id)
  }
  return violations
}

/** H3: a record sent by an idempotent producer is in its partition once. */
export function noDuplicate(history: History): Violation[] {
  const violations: Violation[] = []
  const places = new Map<string, Place>()
  for (const { partition, records } of allReads(history)) {
    for (const { offset, id } of records) {
      const before = places.get(id)
      if (before === undefined) places.set(id, { partition, offset })
      else if (before.offset !== offset || before.partition !== partition) {
        violations.push({ rule: 'H3', message: `${id} is at ${told(before)} and at ${told({ partition, offset })}` })
      }
    }
  }
  for (const send of history.sends) {
    if (!isPromised(send)) continue
    const place = places.get(send.id)
    if (place === undefined || (place.offset === send.offset && place.partition === send.partition)) continue
    violations.push({ rule: 'H3', message: `${send.id} was acknowledged at ${told(send)} and is at ${told(place)}` })
  }
  return violations
}

interface Place {
  readonly partition: string
  readonly offset: number | null
}

function told({ partition, offset }: Place): string {
  return `${partition}:${offset}`
}

/** H4: what is read was sent, to this partition, with these bytes. */
export function noPhantom(history: History): Violation[] {
  const sent = new Map(history.sends.map((send) => [send.id, send]))
  const violations: Violation[] = []
  for (const { partition, records } of allReads(history)) {
    for (const record of records) {
      const send = sent.get(record.id)
      if (send?.partition === partition && send.digest === record.digest) continue
      violations.push({ rule: 'H4', message: phantom(partition, record, send) })
    }
  }
  return violations
}

function phantom(partition: string, { offset, id }: ReadRecord, send: Send | undefined): string {
  const place = told({ partition, offset })
  if (send === undefined) return `${place} holds ${id}, which nobody sent`
  if (send.partition !== partition) return `${place} holds ${id}, which was sent to ${send.partition}`
  return `${id} at ${place} has other bytes than sent`
}

/** H22: what was refused with a definite error is never read. */
export function refusedStaysOut(history: History): Violation[] {
  const refused = new Set(history.sends.filter(({ outcome }) => outcome === 'refused').map(({ id }) => id))
  return recordsRead(history)
    .filter(({ record }) => refused.has(record.id))
    .map(({ partition, record }) => ({
      rule: 'H22',
      message: `${record.id} was refused and is at ${partition}:${record.offset}`,
    }))
}

function allReads(history: History): { partition: string; records: readonly ReadRecord[] }[] {
  return [...history.reads, ...history.finalReads]
}

function recordsRead(history: History): { partition: string; record: ReadRecord }[] {
  return allReads(history).flatMap(({ partition, records }) => records.map((record) => ({ partition, record })))
}

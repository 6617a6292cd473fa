import type { History, Read } from './history.ts'
import { ackedByPartition, groupBy, type Violation } from './violation.ts'

/** H8: within one poll offsets grow, lie in what was asked for, and leave out nothing that others have seen there. */
export function contiguousWithinPolls(history: History): Violation[] {
  const known = knownOffsets(history)
  return history.reads.flatMap((read) => {
    const violations: Violation[] = []
    const report = (text: string) =>
      violations.push({ rule: 'H8', message: `${read.consumer} at ${read.partition}: ${text}` })
    let last = read.from - 1
    for (const { offset } of read.records) {
      if (offset <= last) report(`offset ${offset} after ${last}`)
      last = offset
    }
    if (last >= read.to) report(`offset ${last} in a poll of [${read.from}, ${read.to})`)
    const offsets = known.get(read.partition) ?? []
    const seen = new Set(read.records.map(({ offset }) => offset))
    for (let index = firstAtLeast(offsets, read.from); index < offsets.length; index++) {
      const offset = offsets[index] as number
      if (offset >= read.to) break
      if (!seen.has(offset)) report(`offset ${offset} is left out`)
    }
    return violations
  })
}

/** Offsets at which somebody saw a record, in order. */
function knownOffsets(history: History): Map<string, number[]> {
  const known = new Map<string, number[]>()
  for (const [partition, reads] of groupBy([...history.reads, ...history.finalReads], (read) => read.partition)) {
    const offsets = new Set(reads.flatMap(({ records }) => records.map(({ offset }) => offset)))
    known.set(
      partition,
      [...offsets].sort((a, b) => a - b),
    )
  }
  return known
}

/** The index of the first of `sorted` that is not below `least`. */
function firstAtLeast(sorted: readonly number[], least: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as number) < least) low = middle + 1
    else high = middle
  }
  return low
}

/** H9: a poll starts where the consumer's last one ended. */
export function contiguousBetweenPolls(history: History): Violation[] {
  const violations: Violation[] = []
  const last = new Map<string, Read>()
  for (const read of history.reads) {
    const key = `${read.consumer} at ${read.partition}`
    const before = last.get(key)
    if (read.continues && before !== undefined && before.to !== read.from) {
      violations.push({ rule: 'H9', message: `${key}: a poll ended at ${before.to}, the next began at ${read.from}` })
    }
    last.set(key, read)
  }
  return violations
}

/** H10: the acknowledged sends of one producer to one partition have growing offsets. */
export function producerOrder(history: History): Violation[] {
  const violations: Violation[] = []
  for (const [partition, sends] of ackedByPartition(history)) {
    for (const [producer, own] of groupBy(sends, (send) => send.producer)) {
      const inOrder = [...own].sort((a, b) => a.invoked - b.invoked)
      inOrder.forEach((send, i) => {
        const before = inOrder[i - 1]
        if (before === undefined || (before.offset as number) < (send.offset as number)) return
        const text = `${before.id} at ${before.offset}, sent before ${send.id} at ${send.offset}`
        violations.push({ rule: 'H10', message: `${producer} at ${partition}: ${text}` })
      })
    }
  }
  return violations
}

/** H11: a record sent after another's ack had come lies behind it. */
export function appendsAreLinear(history: History): Violation[] {
  const violations: Violation[] = []
  for (const [partition, sends] of ackedByPartition(history)) {
    const byCompletion = [...sends].sort((a, b) => (a.completed as number) - (b.completed as number))
    const byInvocation = [...sends].sort((a, b) => a.invoked - b.invoked)
    let next = 0
    let highest = byCompletion[0]
    for (const send of byInvocation) {
      for (; next < byCompletion.length; next++) {
        const done = byCompletion[next]
        if (done === undefined || (done.completed as number) > send.invoked) break
        if ((done.offset as number) >= (highest?.offset as number)) highest = done
      }
      if (next === 0 || highest === undefined || (highest.offset as number) < (send.offset as number)) continue
      const text = `${send.id} at ${send.offset} was sent after ${highest.id} at ${highest.offset} was acknowledged`
      violations.push({ rule: 'H11', message: `${partition}: ${text}` })
    }
  }
  return violations
}

/**
 * H12: the end of a partition never goes back, and lies behind everything acknowledged before it was asked for. A leader that
 * is cut off, or stood still, may tell what was the end in its epoch: it need not know what later leaders took.
 */
export function endNeverFalls(history: History): Violation[] {
  const violations: Violation[] = []
  const acked = ackedByPartition(history)
  for (const [partition, bounds] of groupBy(history.bounds, (each) => each.partition)) {
    const told = bounds.flatMap(({ source, end, epoch, invoked, completed }) => {
      return end === null || epoch === null ? [] : [{ source, end, epoch, invoked, completed }]
    })
    const epochs = epochsOf(history, partition)
    const known: Known[] = [
      ...told.map(({ completed, end, epoch }) => ({ moment: completed, end, epoch })),
      ...(acked.get(partition) ?? []).flatMap(({ id, completed, offset, isRetried }) => {
        if (isRetried) return []
        // One that nobody has read is lost: every leader should have had it.
        const epoch = epochs.get(id) ?? Number.NEGATIVE_INFINITY
        return [{ moment: completed as number, end: (offset as number) + 1, epoch }]
      }),
    ].sort((a, b) => a.moment - b.moment)
    let next = 0
    const least = new Map<number, number>()
    for (const { source, invoked, end, epoch } of told.sort((a, b) => a.invoked - b.invoked)) {
      for (let fact = known[next]; fact !== undefined && fact.moment < invoked; fact = known[++next]) {
        least.set(fact.epoch, Math.max(least.get(fact.epoch) ?? 0, fact.end))
      }
      for (const [earlier, before] of least) {
        if (end >= before || (source === 'list' ? earlier > epoch : earlier !== epoch)) continue
        const message = `${partition}: the end was ${before} in epoch ${earlier}, later ${end} in epoch ${epoch}`
        violations.push({ rule: 'H12', message })
      }
    }
  }
  return violations
}

/** The end was there at this moment, by a leader of this epoch. */
interface Known {
  readonly moment: number
  readonly end: number
  readonly epoch: number
}

/** In which epoch each record was appended, as far as anybody has read it. */
function epochsOf(history: History, partition: string): Map<string, number> {
  const epochs = new Map<string, number>()
  for (const read of [...history.reads, ...history.finalReads]) {
    if (read.partition === partition) for (const { id, epoch } of read.records) epochs.set(id, epoch)
  }
  return epochs
}

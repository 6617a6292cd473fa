import type { History, TimeAnswer } from './history.ts'
import { groupBy, isPromised, type Violation } from './violation.ts'

interface Placed {
  readonly offset: number
  readonly epoch: number
  readonly id: string
  readonly timestampMs: number
  /** Before this moment nobody could demand that a look-up finds it. */
  readonly knownSince: number
}

/**
 * H18: a look-up by time gives the first record at or after that time. Judged by what the partition holds at the end: all
 * of it before the told offset was there, and committed, when the answer was given.
 */
export function timeLookups(history: History): Violation[] {
  const records = new Map(history.finalReads.map(({ partition }) => [partition, placedIn(history, partition)]))
  return history.timeAnswers.flatMap((answer) => judge(answer, records.get(answer.partition) ?? []))
}

function placedIn(history: History, partition: string): Placed[] {
  const sends = new Map(history.sends.map((send) => [send.id, send]))
  const finals = history.finalReads.filter((read) => read.partition === partition)
  return finals.flatMap(({ records }) =>
    records.flatMap(({ offset, epoch, id }) => {
      const send = sends.get(id)
      if (send === undefined) return []
      const knownSince = isPromised(send) && !send.isRetried ? (send.completed as number) : Number.POSITIVE_INFINITY
      return [{ offset, epoch, id, timestampMs: send.timestampMs, knownSince }]
    }),
  )
}

function judge(answer: TimeAnswer, records: readonly Placed[]): Violation[] {
  const { partition, timestampMs, offset, epoch, invoked } = answer
  const report = (text: string) => [{ rule: 'H18', message: `${partition} from time ${timestampMs}: ${text}` }]
  const matching = records.filter((record) => record.timestampMs >= timestampMs)
  if (offset === null) {
    // A leader of an old epoch may not have heard of what the next one took.
    const missed = matching.find((record) => record.knownSince < invoked && epoch !== null && record.epoch <= epoch)
    return missed ? report(`told nothing, though ${missed.id} is at ${missed.offset}`) : []
  }
  const first = matching.find((record) => record.offset < offset)
  if (first !== undefined) return report(`told ${offset}, though ${first.id} is at ${first.offset}`)
  const told = records.find((record) => record.offset === offset)
  if (told === undefined || told.timestampMs >= timestampMs) return []
  return report(`told ${offset}, where ${told.id} has the earlier time ${told.timestampMs}`)
}

/** I5, as clients see it: in one leader epoch a partition has one leader. */
export function oneLeader(history: History): Violation[] {
  const violations: Violation[] = []
  for (const [place, answers] of groupBy(history.leaderAnswers, (each) => `${each.partition} in epoch ${each.epoch}`)) {
    const leaders = [...new Set(answers.map(({ leader }) => leader))]
    if (leaders.length > 1) violations.push({ rule: 'I5', message: `${place} is led by ${leaders.join(' and by ')}` })
  }
  return violations
}

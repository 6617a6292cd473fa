import type { Commit, History, OffsetAnswer } from './history.ts'
import { ackedByPartition, groupBy, isPromised, type Violation } from './violation.ts'

/**
 * H13: after an acknowledged commit the group's offset is that one or a later one; "none" only while none was
 * acknowledged. A commit without an answer may take effect at any time, also late, as long as its generation lasts.
 */
export function committedOffsetsStay(history: History): Violation[] {
  const commits = groupBy(history.commits, placeOf)
  return history.offsetAnswers.flatMap((answer) => {
    const possible = (commits.get(placeOf(answer)) ?? []).filter((commit) => mayBeTheAnswer(commit, answer))
    const acked = (commits.get(placeOf(answer)) ?? []).filter((commit) => isBefore(commit, answer.invoked))
    // Whatever an older generation had on its way when a later one's commit was taken comes too late.
    const superseded = (commit: Commit) =>
      acked.some((later) => isBefore(commit, later.invoked) || later.generation > commit.generation)
    const allowed = possible.filter((commit) => !superseded(commit)).map(({ offset }) => offset)
    if (answer.offset === null ? acked.length === 0 : allowed.includes(answer.offset)) return []
    const told = answer.offset ?? 'no offset'
    return [{ rule: 'H13', message: `${placeOf(answer)}: told ${told}, possible were ${allowed.join(', ') || 'none'}` }]
  })
}

function placeOf({ group, partition }: { group: string; partition: string }): string {
  return `${group} at ${partition}`
}

function mayBeTheAnswer(commit: Commit, answer: OffsetAnswer): boolean {
  return commit.outcome !== 'refused' && commit.invoked < answer.completed
}

/** Acknowledged for certain before `moment`. */
function isBefore(commit: Commit, moment: number): boolean {
  return commit.outcome === 'acked' && (commit.completed as number) < moment
}

/**
 * H14: in one generation a partition has one owner, and once a member has learnt of a later generation no commit of an
 * earlier one is taken.
 */
export function oneOwner(history: History): Violation[] {
  const violations: Violation[] = []
  const owners = new Map<string, string>()
  for (const { group, member, generation, partitions } of history.assignments) {
    for (const partition of partitions) {
      const place = `${partition} in generation ${generation} of ${group}`
      const owner = owners.get(place) ?? member
      owners.set(place, owner)
      if (owner !== member) violations.push({ rule: 'H14', message: `${place} belongs to ${owner} and to ${member}` })
    }
  }
  for (const commit of history.commits) {
    const later = history.assignments.find(
      ({ group, generation, moment }) =>
        group === commit.group && generation > commit.generation && moment < commit.invoked,
    )
    if (commit.outcome !== 'acked' || later === undefined) continue
    const text = `${commit.member} committed ${commit.partition} in generation ${commit.generation}`
    violations.push({ rule: 'H14', message: `${text}, while ${later.member} was in generation ${later.generation}` })
  }
  return violations
}

/** H20: the start of a partition moves only as far as DeleteRecords asked or retention allows, and never past the end. */
export function nothingRemovedEarly(history: History): Violation[] {
  const acked = ackedByPartition(history)
  return history.bounds.flatMap(({ partition, start, end, wallMs, completed }) => {
    if (start === null) return []
    const report = (message: string) => [{ rule: 'H20', message: `${partition}: ${message}` }]
    if (end !== null && start > end) return report(`it starts at ${start}, behind its end ${end}`)
    const asked = Math.max(
      0,
      ...history.deletions
        .filter((deletion) => deletion.partition === partition && deletion.invoked < completed)
        .map(({ before }) => before),
    )
    if (start <= asked) return []
    const retentionMs = history.policies.get(partition)?.retentionMs ?? null
    if (retentionMs === null) return report(`it starts at ${start}; nothing allows more than ${asked}`)
    const early = (acked.get(partition) ?? []).find(
      (send) => (send.offset as number) < start && send.timestampMs + retentionMs > wallMs,
    )
    return early ? report(`${early.id} at ${early.offset} was removed before its time`) : []
  })
}

/** H23, of consumption: after healing a group has read everything that was acknowledged. */
export function nothingUnseen(history: History, group: string): Violation[] {
  const seen = new Set(
    history.reads.filter((read) => read.group === group).flatMap((read) => read.records.map(({ id }) => id)),
  )
  return history.sends
    .filter((send) => isPromised(send) && !seen.has(send.id))
    .map(({ id, partition, offset }) => ({
      rule: 'H23',
      message: `${group} never read ${id} at ${partition}:${offset}`,
    }))
}

import type { Group, Groups, StoredOffset } from './groups.ts'
import { areDifferentTopics } from './offset-commits.ts'
import { dangerEnd, dueOf, type OutlookBook, type OutlookChange, type PartitionOutlook } from './outlook-book.ts'
import type { Moment } from '../model/shard.ts'
import type { LostOffsets } from './records.ts'
import type { Draft } from './types.ts'

export interface LostRange extends LostOffsets {
  readonly topic: string
  readonly partition: number
}

/** What a group has to fear, and what it has lost. On the group while there is either. */
export class GroupRisk {
  /** Partitions at risk, by topic. */
  readonly partitions = new Map<string, Set<number>>()
  /** Monotonic time of the last warning. */
  warnedMs = Number.NEGATIVE_INFINITY
  /** And nobody has said since that it is over. */
  isWarned = false
  /** The newest ones; adjacent ranges are one. */
  lost: readonly LostRange[] = []
  /** By topic: all that this shard has heard of, and what was written down before. */
  readonly lostRecords = new Map<string, number>()

  get isAtRisk(): boolean {
    return this.partitions.size > 0
  }

  add(range: LostRange): void {
    const { topic, partition, from, to } = range
    const own = this.lost.filter((one) => one.topic === topic && one.partition === partition)
    const others = this.lost.filter((one) => one.topic !== topic || one.partition !== partition)
    const ranges = joined(own, range).map((one) => ({ topic, partition, from: one.from, to: one.to, atMs: one.atMs }))
    this.lost = [...others, ...ranges].slice(-RANGES_MAX)
    this.lostRecords.set(topic, (this.lostRecords.get(topic) ?? 0) + to - from)
  }
}

/** While a group stays in danger, it is warned of so often; and one that comes and goes, so often at most. */
const WARN_AGAIN_MS = 3_600_000
const WARN_ANEW_MS = 600_000
/** Kept for each group. */
const RANGES_MAX = 100
/** Of one group, of what one outlook tells. */
const LINES_MAX = 10
/** Kept in the record of an offset. */
const WRITTEN_MAX = 8
/** Written down for what one message of a leader tells: many groups that stand still must not fill the log. */
const RECORDS_MAX = 1000

/**
 * Sets the offsets of groups against what retention is about to delete, and has deleted. Driven by outlooks, which do not
 * depend on how many groups there are, and by commits, which cost a comparison.
 */
export class RetentionRisk {
  readonly #groups: Groups
  readonly #book: OutlookBook
  /** Groups that a commit has brought out of danger, not said yet. */
  readonly #saved = new Set<Group>()

  constructor(groups: Groups, book: OutlookBook) {
    this.#groups = groups
    this.#book = book
  }

  /** The shard is loaded: all its offsets are compared with all that is known. */
  loaded(moment: Moment, draft: Draft): void {
    for (const group of this.#groups.values()) {
      recall(group)
      this.#judge(group, moment, draft, (topic, partition) => {
        const outlook = this.#book.get(topic, partition)
        return outlook === undefined ? undefined : { outlook, startBefore: null }
      })
    }
  }

  /** What leaders have told. */
  changed(changes: readonly OutlookChange[], moment: Moment, draft: Draft): void {
    const byTopic = new Map<string, Map<number, OutlookChange>>()
    for (const change of changes) {
      const { topic, partition } = change.outlook
      byTopic.set(topic, (byTopic.get(topic) ?? new Map()).set(partition, change))
    }
    for (const group of this.#groups.values()) {
      this.#judge(group, moment, draft, (topic, partition) => byTopic.get(topic)?.get(partition))
    }
  }

  /** The group has committed, or its offset is gone. */
  moved(group: Group, topic: string, partition: number): void {
    const outlook = this.#book.get(topic, partition)
    if (outlook === undefined) return
    const stored = group.offsets.get(topic)?.get(partition)
    this.#mark(group, outlook, stored !== undefined && isInDanger(stored, outlook))
    if (stored !== undefined && group.risk?.isWarned && !group.risk.isAtRisk) this.#saved.add(group)
  }

  /** Says who is out of danger. */
  tell(draft: Draft): void {
    for (const group of this.#saved) {
      const { risk } = group
      if (risk === null || risk.isAtRisk) continue
      risk.isWarned = false
      draft.note('A group reads again what it was about to lose', { group: group.groupId })
    }
    this.#saved.clear()
  }

  #judge(
    group: Group,
    moment: Moment,
    draft: Draft,
    changeOf: (topic: string, partition: number) => OutlookChange | undefined,
  ): void {
    const lost: LostRange[] = []
    for (const [topic, partitions] of group.offsets) {
      for (const [partition, stored] of partitions) {
        const change = changeOf(topic, partition)
        if (change === undefined || areDifferentTopics(stored.topicId, change.outlook.topicId)) continue
        const range = lossOf(stored, change, moment)
        if (range !== null) {
          lost.push(range)
          if (moment.refusal === null && draft.records.length < RECORDS_MAX) writeDown(group, stored, range, draft)
        }
        this.#mark(group, change.outlook, isInDanger(stored, change.outlook))
      }
    }
    if (lost.length > 0) noteLosses(group, lost, draft)
    if (group.risk?.isAtRisk) this.#warn(group, group.risk, moment, draft)
    // Nothing of it is left to lose.
    else if (group.risk !== null) group.risk.isWarned = false
  }

  #mark(group: Group, { topic, partition }: PartitionOutlook, isAtRisk: boolean): void {
    const marked = group.risk?.partitions.get(topic)
    if (isAtRisk) {
      const risk = (group.risk ??= new GroupRisk())
      risk.partitions.set(topic, (marked ?? new Set()).add(partition))
      return
    }
    if (group.risk === null || marked?.delete(partition) !== true) return
    if (marked.size === 0) group.risk.partitions.delete(topic)
  }

  #warn(group: Group, risk: GroupRisk, moment: Moment, draft: Draft): void {
    if (moment.nowMs - risk.warnedMs < (risk.isWarned ? WARN_AGAIN_MS : WARN_ANEW_MS)) return
    risk.warnedMs = moment.nowMs
    risk.isWarned = true
    const dangers = [...risk.partitions].flatMap(([topic, partitions]) =>
      [...partitions].flatMap((partition) => this.#dangerOf(group, topic, partition)),
    )
    dangers.sort((one, other) => one.dueMs - other.dueMs)
    const [first] = dangers
    if (first === undefined) return
    const { topic, partition, offset } = first
    const records = dangers.reduce((sum, danger) => sum + danger.records, 0)
    const leftSeconds = Math.max(0, Math.round((first.dueMs - moment.nowMs) / 1000))
    const fields = { group: group.groupId, partitions: dangers.length, records, topic, partition, offset, leftSeconds }
    draft.note('A group is about to lose records that it has not read', fields, 'warn')
  }

  #dangerOf(group: Group, topic: string, partition: number) {
    const stored = group.offsets.get(topic)?.get(partition)
    const outlook = this.#book.get(topic, partition)
    if (stored === undefined || outlook === undefined) return []
    const offset = Math.max(stored.offset, outlook.startOffset)
    const dueMs = dueOf(outlook, offset)
    return dueMs === null ? [] : [{ topic, partition, offset, dueMs, records: dangerEnd(outlook) - offset }]
  }
}

function isInDanger({ offset }: StoredOffset, outlook: PartitionOutlook): boolean {
  return Math.max(offset, outlook.startOffset) < dangerEnd(outlook)
}

/** The shard is loaded: what was written down of losses is known again. */
function recall(group: Group): void {
  for (const [topic, partitions] of group.offsets) {
    for (const [partition, { lost = [] }] of partitions) {
      const risk = lost.length === 0 ? null : (group.risk ??= new GroupRisk())
      for (const range of lost) risk?.add({ topic, partition, ...range })
    }
  }
}

/** The offset once more, with the loss; the group's next commit carries it on. */
function writeDown(group: Group, stored: StoredOffset, range: LostRange, draft: Draft): void {
  const { topic, partition, from, to, atMs } = range
  // A commit of the transaction would seem to be older than this. And other kinds of groups are not ours to write.
  if (group.isForeign || group.hasPendingOffset(topic, partition)) return
  const { recordOffset: _, anchor: __, ...value } = stored
  const lost = joined(stored.lost ?? [], { from, to, atMs }).slice(-WRITTEN_MAX)
  draft.records.push({ type: 'offset', groupId: group.groupId, topic, partition, value: { ...value, lost } })
}

function lossOf(
  { offset, lost }: StoredOffset,
  { outlook, startBefore }: OutlookChange,
  moment: Moment,
): LostRange | null {
  const { topic, partition, startOffset: to } = outlook
  // What was gone before, the group has not lost now; it may have been sent back there.
  const from = Math.max(offset, startBefore ?? lost?.at(-1)?.to ?? 0)
  return from < to ? { topic, partition, from, to, atMs: moment.wallMs } : null
}

/** A line for each partition; of a group that reads very many, one more for the rest. */
function noteLosses(group: Group, lost: readonly LostRange[], draft: Draft): void {
  const risk = (group.risk ??= new GroupRisk())
  for (const range of lost) risk.add(range)
  const { groupId } = group
  const shown = lost.length > LINES_MAX ? lost.slice(0, LINES_MAX - 1) : lost
  for (const { topic, partition, from, to } of shown) {
    const fields = { group: groupId, topic, partition, from, to, records: to - from }
    draft.note('Records were deleted that a group had not read', fields, 'error')
  }
  const rest = lost.slice(shown.length)
  if (rest.length === 0) return
  const records = rest.reduce((sum, { from, to }) => sum + to - from, 0)
  const fields = { group: groupId, partitions: rest.length, records }
  draft.note('Records were deleted that a group had not read, in more partitions', fields, 'error')
}

/** Adjacent ranges are one. */
function joined(ranges: readonly LostOffsets[], range: LostOffsets): readonly LostOffsets[] {
  const last = ranges.at(-1)
  if (last?.to !== range.from) return [...ranges, range]
  return [...ranges.slice(0, -1), { ...range, from: last.from }]
}

import type { Offsets, StoredOffset } from './groups.ts'
import type { Group, Groups } from './groups.ts'
import type { LostRange } from './retention-risk.ts'

/** An offset of a group as it matters to its lag. */
export interface Standing {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  readonly offset: number
  /** An earlier commit, or this one; wall clock. */
  readonly sinceOffset: number
  readonly sinceMs: number
  readonly isAtRisk: boolean
}

export interface GroupStanding {
  readonly groupId: string
  readonly members: number
  readonly offsets: readonly Standing[]
  readonly lost: readonly LostRange[]
  readonly lostRecords: ReadonlyMap<string, number>
}

export interface SurveyedGroup {
  readonly groupId: string
  /** Offsets that it has committed. */
  readonly positions: number
  readonly isAtRisk: boolean
}

/** How old the commit is that the present one is compared with, at most, when commits come more often. */
const ANCHOR_MS = 60_000

/** The commit that `next` is to be compared with: the one before, unless an older one is still recent enough. */
export function anchorOf(
  before: StoredOffset | undefined,
  next: { offset: number; commitTimestampMs: number },
): StoredOffset['anchor'] {
  if (before === undefined) return null
  const { anchor, offset, commitTimestampMs } = before
  // The same commit, written once more.
  if (offset === next.offset && commitTimestampMs === next.commitTimestampMs) return anchor
  if (anchor !== null && next.commitTimestampMs - anchor.commitTimestampMs <= 2 * ANCHOR_MS) return anchor
  return { offset, commitTimestampMs }
}

/** Where groups stand: of those named, or of all. Groups that are not there are left out. */
export function standingsOf(
  groups: Groups,
  { groupIds, onlyAtRisk }: { groupIds: readonly string[] | null; onlyAtRisk: boolean },
): { standings: GroupStanding[]; seen: number } {
  const asked = groupIds === null ? [...groups.values()] : groupIds.flatMap((id) => groups.get(id) ?? [])
  const found = onlyAtRisk
    ? asked.filter(({ risk }) => risk !== null && (risk.isAtRisk || risk.lost.length > 0))
    : asked
  const seen = found.reduce(
    (newest, { lastRecordOffset }) => Math.max(newest, lastRecordOffset),
    groups.lastRemovalOffset,
  )
  return { standings: found.map(standingOf), seen }
}

function standingOf({ groupId, classic, offsets, risk }: Group): GroupStanding {
  const isAtRisk = (topic: string, partition: number) => risk?.partitions.get(topic)?.has(partition) === true
  const lostRecords = risk?.lostRecords ?? new Map<string, number>()
  const members = classic.members.size
  return { groupId, members, offsets: listed(offsets, isAtRisk), lost: risk?.lost ?? [], lostRecords }
}

function listed(offsets: Offsets, isAtRisk: (topic: string, partition: number) => boolean): Standing[] {
  const standings: Standing[] = []
  for (const [topic, partitions] of offsets) {
    for (const [partition, { offset, topicId, commitTimestampMs, anchor }] of partitions) {
      const since = anchor ?? { offset, commitTimestampMs }
      standings.push({
        topic,
        topicId,
        partition,
        offset,
        sinceOffset: since.offset,
        sinceMs: since.commitTimestampMs,
        isAtRisk: isAtRisk(topic, partition),
      })
    }
  }
  return standings
}

import type { GroupCoordinator } from '../../coordinator/group-coordinator.ts'
import { type DescribeGroups, LAG_TRENDS } from '../../protocol/apis/describe-groups.ts'
import type { ListGroups } from '../../protocol/apis/list-groups.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import type { GroupLag, GroupLags, PositionLag } from './group-lags.ts'

type Described = ResponseInput<typeof DescribeGroups>
type DescribedLag = NonNullable<Described['groups'][number]['lag']>[number]
type Listed = ResponseInput<typeof ListGroups>

/** Adds to each group where it stands and what it has lost. */
export async function withLag(described: Described, groups: GroupCoordinator, lags: GroupLags): Promise<Described> {
  const groupIds = described.groups.flatMap(({ groupId, errorCode }) => (errorCode === 0 ? [groupId] : []))
  const found = await lags.of(await groups.standings({ groupIds, onlyAtRisk: false }))
  const byId = new Map(found.map((group) => [group.groupId, group]))
  const complete = described.groups.map((group) => {
    const lag = byId.get(group.groupId)
    return { ...group, lag: lag?.offsets.map(toWire) ?? [], lost: lag?.lost ?? [] }
  })
  return { ...described, groups: complete }
}

/** Of the listed groups those that retention is about to take something from, or has. */
export async function onlyAtRisk(listed: Listed, groups: GroupCoordinator, lags: GroupLags): Promise<Listed> {
  const found = await lags.of(await groups.standings({ groupIds: null, onlyAtRisk: true }))
  const byId = new Map(found.map((group) => [group.groupId, riskOf(group)]))
  const kept = listed.groups.flatMap((group) => {
    const risk = byId.get(group.groupId)
    return risk === undefined ? [] : [{ ...group, risk }]
  })
  return { ...listed, groups: kept }
}

function riskOf({ offsets, lostRecords }: GroupLag): NonNullable<Listed['groups'][number]['risk']> {
  const atRisk = offsets.filter(({ isAtRisk }) => isAtRisk)
  const lefts = atRisk.map(({ figures }) => finite(figures?.leftMs)).filter((leftMs) => leftMs >= 0)
  return {
    partitions: atRisk.length,
    records: atRisk.reduce((sum, { figures }) => sum + (figures?.lag ?? 0), 0),
    leftMs: lefts.length === 0 ? -1 : lefts.reduce((least, leftMs) => Math.min(least, leftMs)),
    lostRecords: [...lostRecords.values()].reduce((sum, records) => sum + records, 0),
  }
}

function toWire({ topic, partition, offset, isAtRisk, figures }: PositionLag): DescribedLag {
  return {
    topic,
    partition,
    committedOffset: offset,
    startOffset: figures?.startOffset ?? -1,
    endOffset: figures?.endOffset ?? -1,
    lag: figures?.lag ?? -1,
    lagMs: figures?.lagMs ?? -1,
    trend: LAG_TRENDS.indexOf(figures?.trend ?? 'unknown'),
    caughtUpInMs: figures?.caughtUpInMs ?? -1,
    leftMs: finite(figures?.leftMs),
    isAtRisk,
  }
}

function finite(ms: number | undefined): number {
  return ms !== undefined && Number.isFinite(ms) ? Math.round(ms) : -1
}

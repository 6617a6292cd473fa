import type { GroupDescription, LostRecords } from '../../client/group-admin.ts'
import { withCluster } from '../connect.ts'
import { print, table } from '../output.ts'
import { counted, formatCount } from '../quantity.ts'
import { formatDuration } from '../records/time-text.ts'
import type { GroupFlags } from './command.ts'
import { refuseMissing } from './missing.ts'
import { lagOf, type PartitionLag, totalLag } from '../../client/group-lag.ts'

export async function describeGroups(groupIds: readonly string[], flags: GroupFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    const groups = await admin.groups.describe(groupIds, { lag: true })
    const present = groups.filter(({ state }) => state !== 'Dead')
    const lags = await Promise.all(present.map((group) => lagOf(admin, group)))
    const json = present.map((group, index) => ({ ...group, lag: undefined, partitions: lags[index] }))
    const lines = present.flatMap((group, index) => [...(index > 0 ? [''] : []), ...linesOf(group, lags[index] ?? [])])
    if (present.length > 0) await print(flags.format, json, lines)
    refuseMissing(groups)
  })
}

function linesOf(group: GroupDescription, partitions: readonly PartitionLag[]): string[] {
  const total = totalLag(partitions)
  const members = `${group.members.length} ${group.members.length === 1 ? 'member' : 'members'}`
  const head = `${group.groupId}  ${group.state}, ${members}${group.protocol === '' ? '' : `, ${group.protocol}`}, ${total === null ? 'nothing committed' : `lag ${formatCount(total)}`}`
  const rows = partitions.map(({ topic, partition, committed, endOffset, lag, known, memberId, clientId, host }) => [
    topic,
    partition,
    committed ?? '-',
    endOffset,
    lag,
    known === null ? '-' : formatDuration(known.lagMs),
    trendOf(known),
    leftOf(known),
    memberId === null ? '-' : `${clientId}${host}`,
    memberId ?? '-',
  ])
  const heads = ['TOPIC', 'PARTITION', 'COMMITTED', 'END', 'LAG', 'BEHIND', 'TREND', 'TIME LEFT', 'CLIENT', 'MEMBER']
  const offsets = rows.length === 0 ? [] : table(heads, rows).map((line) => `  ${line}`)
  return [head, ...offsets, ...group.lost.map((range) => `  ${lostLine(range)}`)]
}

function trendOf(known: PartitionLag['known']): string {
  if (known === null || known.trend === 'unknown') return '-'
  if (known.caughtUpInMs === null) return known.trend
  return `shrinking, ${formatDuration(known.caughtUpInMs)} to go`
}

/** Until retention deletes the first record that the group has not read. */
function leftOf(known: PartitionLag['known']): string {
  if (known === null || known.leftMs === null) return '-'
  return `${formatDuration(known.leftMs)}${known.isAtRisk ? ' AT RISK' : ''}`
}

function lostLine({ topic, partition, from, to, atMs }: LostRecords): string {
  const offsets = to - from === 1 ? `offset ${from}` : `offsets ${from} to ${to - 1}`
  return `lost: ${topic}-${partition} ${offsets}, ${counted(to - from, 'record')}, deleted unread, noticed ${new Date(atMs).toISOString()}`
}

import type { GroupCoordinator } from '../../coordinator/group-coordinator.ts'
import type { SurveyedGroup } from '../../group/standing.ts'
import type { GroupLag, GroupLags, PositionLag } from '../lag/group-lags.ts'
import { Collector } from './collector.ts'
import type { Family } from './family.ts'

/** Offsets of groups beyond this number have no series of their own. */
export const POSITIONS_SHOWN_MAX = 2000
/** A longer name takes the room of several: some series of each position repeat it, and Kafka bounds it by 32 KB only. */
const NAME_CHARACTERS = 256

/** Where the groups stand that are coordinated here. A node in trouble must answer too: leaders are waited for, two seconds, and nothing else. Groups that are about to lose something come first. */
export async function groupMetrics(groups: GroupCoordinator, lags: GroupLags): Promise<Family[]> {
  const collector = new Collector()
  const all = [...groups.survey()]
  const atRisk = all.filter(({ isAtRisk }) => isAtRisk)
  collector.add('millrace_groups_at_risk', atRisk.length)
  const { groupIds, leftOut } = choose([...atRisk, ...all.filter(({ isAtRisk }) => !isAtRisk)])
  collector.add('millrace_metrics_groups_left_out', leftOut)
  for (const group of await lags.of(groups.standingsNow(groupIds), { withPace: false })) addGroup(collector, group)
  return [...collector.families()]
}

/** The first ones that fit. */
function choose(all: readonly SurveyedGroup[]): { groupIds: string[]; leftOut: number } {
  const groupIds: string[] = []
  let [room, leftOut] = [POSITIONS_SHOWN_MAX, 0]
  for (const { groupId, positions } of all) {
    const wanted = Math.max(1, positions) * Math.max(1, Math.ceil(groupId.length / NAME_CHARACTERS))
    const fits = wanted <= room
    if (fits) groupIds.push(groupId)
    if (fits) room -= wanted
    else leftOut += positions
  }
  return { groupIds, leftOut }
}

function addGroup(collector: Collector, { groupId, members, offsets, lostRecords }: GroupLag): void {
  collector.add('kafka_consumergroup_members', members, { consumergroup: groupId })
  const sums = new Map<string, { offset: number; lag: number }>()
  for (const position of offsets) {
    addPosition(collector, groupId, position)
    const sum = sums.get(position.topic) ?? { offset: 0, lag: 0 }
    sums.set(position.topic, sum)
    sum.offset += position.offset
    sum.lag += position.figures?.lag ?? 0
  }
  for (const [topic, { offset, lag }] of sums) {
    const labels = { consumergroup: groupId, topic }
    collector.addAll(labels, { kafka_consumergroup_current_offset_sum: offset, kafka_consumergroup_lag_sum: lag })
  }
  for (const [topic, records] of lostRecords) {
    collector.add('millrace_group_records_lost_total', records, { group: groupId, topic })
  }
}

function addPosition(
  collector: Collector,
  group: string,
  { topic, partition, offset, figures, isAtRisk }: PositionLag,
) {
  const theirs = { consumergroup: group, topic, partition }
  collector.add('kafka_consumergroup_current_offset', offset, theirs)
  // What a leader has not told is not known, and not 0.
  if (figures === null) return
  collector.add('kafka_consumergroup_lag', figures.lag, theirs)
  const labels = { group, topic, partition }
  collector.add('millrace_group_lag_seconds', figures.lagMs / 1000, labels)
  const { leftMs } = figures
  if (Number.isFinite(leftMs)) collector.add('millrace_group_time_left_seconds', leftMs / 1000, labels)
  if (isAtRisk) collector.add('millrace_group_partition_at_risk', 1, labels)
}

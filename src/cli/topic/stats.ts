import type { Admin } from '../../client/admin.ts'
import type { TopicInfo } from '../../client/metadata.ts'
import type { TopicPartition } from '../../model/ids.ts'
import { withCluster } from '../connect.ts'
import { print, table } from '../output.ts'
import { counted, formatBytes, formatCount } from '../quantity.ts'
import { formatDuration } from '../records/time-text.ts'
import type { TopicFlags } from './command.ts'
import { partitionFacts } from './partition-facts.ts'
import { type PartitionStats, type TopicStats, WINDOWS_MINUTES, summarize } from './stats-summary.ts'

/** What is in topics, how fast it comes and how soon it goes. */
export async function showStats(names: readonly string[], flags: TopicFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    const topics = await admin.describeTopics(names)
    const nowMs = Date.now()
    const all = await Promise.all(topics.map((topic) => statsOf(admin, topic, nowMs)))
    await print(
      flags.format,
      all,
      all.flatMap((stats, index) => [...(index > 0 ? [''] : []), ...linesOf(stats, nowMs)]),
    )
  })
}

async function statsOf(admin: Admin, topic: TopicInfo, nowMs: number): Promise<TopicStats> {
  const [facts, [config]] = await Promise.all([
    partitionFacts(admin, [topic]),
    admin.describeConfigs([{ kind: 'topic', name: topic.name }]),
  ])
  const led = facts.keys()
  const at = (at: number | 'max-timestamp') => admin.listOffsets(led.map((one) => ({ ...one, at })))
  const windows = WINDOWS_MINUTES.map((minutes) => nowMs - minutes * 60_000)
  const [oldest, newest, ...starts] = await Promise.all([at(0), at('max-timestamp'), ...windows.map((ms) => at(ms))])
  const partitions = led.map((one: TopicPartition): PartitionStats => {
    const { startOffset = 0, endOffset = 0, bytes = 0 } = facts.get(one) ?? {}
    const end = endOffset ?? 0
    const timeOf = (found: { offset: number; timestampMs: number } | undefined) =>
      found === undefined || found.offset < 0 ? null : found.timestampMs
    return {
      partition: one.partition,
      records: end - (startOffset ?? 0),
      bytes: bytes ?? 0,
      oldestMs: timeOf(oldest.get(one)),
      newestMs: timeOf(newest.get(one)),
      recent: starts.map((found) => {
        const offset = found.get(one)?.offset ?? -1
        return offset < 0 ? 0 : end - offset
      }),
    }
  })
  const value = (key: string) => config?.configs.find(({ name }) => name === key)?.value ?? ''
  const retentionMs = value('cleanup.policy').includes('delete') ? Number(value('retention.ms') || -1) : -1
  return summarize(topic.name, partitions, { retentionMs, nowMs })
}

function linesOf(stats: TopicStats, nowMs: number): string[] {
  const { name, records, bytes, perSecond, skew, oldestMs, newestMs, retentionMs, oldestGoesInMs } = stats
  const moment = (ms: number | null) =>
    ms === null ? 'none' : `${new Date(ms).toISOString()} (${formatDuration(Math.max(0, nowMs - ms))} ago)`
  const rates = WINDOWS_MINUTES.map((minutes, index) => `${shown(perSecond[index] ?? 0)} over ${minutes} min`).join(
    ', ',
  )
  const kept =
    retentionMs < 0
      ? 'kept for ever'
      : `kept for ${formatDuration(retentionMs)}${oldestGoesInMs === null ? '' : `; the oldest go in ${formatDuration(oldestGoesInMs)} at the earliest`}`
  const rows = stats.partitions.map((each) => [
    each.partition,
    each.records,
    formatBytes(each.bytes),
    shown((each.recent[0] ?? 0) / (60 * (WINDOWS_MINUTES[0] ?? 1))),
    each.oldestMs === null ? '-' : new Date(each.oldestMs).toISOString(),
    each.newestMs === null ? '-' : new Date(each.newestMs).toISOString(),
  ])
  return [
    `${name}  ${counted(stats.partitions.length, 'partition')}, ${counted(records, 'record')}, ${formatBytes(bytes)} a copy`,
    `  records/s: ${rates}`,
    `  largest partition: ${skew.records.toFixed(2)} times the mean in records, ${skew.bytes.toFixed(2)} times in bytes`,
    `  oldest: ${moment(oldestMs)}, newest: ${moment(newestMs)}`,
    `  ${kept}`,
    ...(stats.removedBytes === 0 ? [] : [`  ${removedLine(stats.removedBytes)}`]),
    ...table(['PARTITION', 'RECORDS', 'SIZE', `/S (${WINDOWS_MINUTES[0]} MIN)`, 'OLDEST', 'NEWEST'], rows).map(
      (line) => `  ${line}`,
    ),
  ]
}

/** Whole segments are deleted, and the one that is being written is none yet. */
function removedLine(bytes: number): string {
  return `${formatBytes(bytes)} are of records that were removed: they go with their segment, once another one was begun (segment.bytes, segment.ms) or all in it is older than retention.ms`
}

function shown(rate: number): string {
  return rate >= 100 ? formatCount(Math.round(rate)) : String(Number(rate.toPrecision(2)))
}

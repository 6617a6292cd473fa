import type { Admin } from '../../client/admin.ts'
import type { ListedOffset, OffsetAt } from '../../client/list-offsets.ts'
import { PartitionMap } from '../../client/topic-partitions.ts'
import type { TopicPartition } from '../../model/ids.ts'
import { type Session, withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print, table } from '../output.ts'
import { counted, formatBytes, formatCount } from '../quantity.ts'
import { formatDuration } from '../records/time-text.ts'
import type { GroupFlags } from './command.ts'
import { firstTimes } from './first-times.ts'
import { byName } from '../../client/group-lag.ts'
import { parseTarget, type RewindTarget } from './target.ts'

/** What the rewind means for one partition. */
interface Move extends TopicPartition {
  /** Null: the group has no offset yet. */
  readonly from: number | null
  readonly to: number
  /** Records that will be read again; those that will be skipped are negative. */
  readonly records: number
  /** Of one copy, in proportion to the partition's size. */
  readonly bytes: number
  /** Time of the first record that will be read again; null where none is. */
  readonly sinceMs: number | null
}

export async function rewindGroup(groupId: string, flags: GroupFlags): Promise<void> {
  const target = parseTarget(flags.to ?? '', Date.now())
  if (target === null) {
    throw new CommandError(
      ExitCode.usage,
      `--to ${flags.to} is not earliest, latest, an age as 2h, a time or an offset`,
    )
  }
  await withCluster(flags, async (session) => {
    const { admin } = session
    await refuseActive(admin, groupId)
    const moves = await plan(session, groupId, await chosenPartitions(admin, groupId, flags.topic), target)
    const done = flags.yes ?? false
    if (done) {
      const offsets = moves.map(({ topic, partition, to }) => ({ topic, partition, offset: to }))
      await admin.groups.commitOffsets(groupId, offsets)
    }
    await print(flags.format, { groupId, done, partitions: moves, ...totalsOf(moves) }, linesOf(moves, done))
  })
}

/** A member would commit over what is set here, and read on as if nothing had happened. */
async function refuseActive(admin: Admin, groupId: string): Promise<void> {
  const [group] = await admin.groups.describe([groupId])
  if (group === undefined || group.members.length === 0) return
  const clients = [...new Set(group.members.map(({ clientId, clientHost }) => `${clientId}${clientHost}`))].join(', ')
  throw new CommandError(
    ExitCode.failed,
    `group ${groupId} is ${group.state} with ${counted(group.members.length, 'member')} (${clients}); stop them first`,
  )
}

/** What the group has offsets for, or the partitions that were named. */
async function chosenPartitions(
  admin: Admin,
  groupId: string,
  named: readonly string[] | undefined,
): Promise<TopicPartition[]> {
  if (named === undefined) {
    const partitions = (await admin.groups.offsets(groupId)).keys()
    if (partitions.length > 0) return partitions.sort(byName)
    throw new CommandError(
      ExitCode.failed,
      `group ${groupId} has no offsets; name a topic with --topic to give it some`,
    )
  }
  const wanted = named.map((text) => {
    const [topic = '', numbers] = text.split(':')
    return { topic, numbers: numbers?.split(',').map(Number) ?? null }
  })
  const topics = await admin.describeTopics(wanted.map(({ topic }) => topic))
  const chosen = new PartitionMap<true>()
  for (const { topic, numbers } of wanted) {
    const count = topics.find(({ name }) => name === topic)?.partitions.length ?? 0
    for (const partition of numbers ?? Array.from({ length: count }, (_, index) => index)) {
      if (!(partition >= 0 && partition < count)) {
        throw new CommandError(ExitCode.usage, `--topic ${topic}:${partition}: it has the partitions 0 to ${count - 1}`)
      }
      chosen.set({ topic, partition }, true)
    }
  }
  return chosen.keys().sort(byName)
}

async function plan(
  { client, admin }: Session,
  groupId: string,
  partitions: readonly TopicPartition[],
  target: RewindTarget,
): Promise<Move[]> {
  const ask = (at: OffsetAt) => admin.listOffsets(partitions.map((partition) => ({ ...partition, at })))
  const [committed, starts, ends, atTime, folders] = await Promise.all([
    admin.groups.offsets(groupId, partitions),
    ask('earliest'),
    ask('latest'),
    target.type === 'time' ? ask(target.timestampMs) : null,
    admin.describeLogDirs(),
  ])
  const sizes = new PartitionMap<number>()
  for (const { replicas } of folders) for (const replica of replicas) sizes.set(replica, replica.bytes)
  const unaged = partitions.map((partition) => {
    const startOffset = starts.get(partition)?.offset ?? 0
    const endOffset = ends.get(partition)?.offset ?? 0
    const to = targetOffset(target, { startOffset, endOffset, time: atTime?.get(partition) })
    const from = committed.get(partition)?.offset ?? null
    const bytesPerRecord = (sizes.get(partition) ?? 0) / Math.max(1, endOffset - startOffset)
    // What retention has removed cannot be read again, whatever the group had committed.
    const records = Math.max(from ?? endOffset, startOffset) - to
    return { ...partition, from, to, records, bytes: Math.round(Math.max(0, records) * bytesPerRecord) }
  })
  const read = unaged.filter(({ records }) => records > 0)
  const times = await firstTimes(
    client,
    read.map(({ topic, partition, to }) => ({ topic, partition, offset: to })),
  )
  return unaged.map((move) => ({ ...move, sinceMs: times.get(move) ?? null }))
}

function targetOffset(
  target: RewindTarget,
  log: { startOffset: number; endOffset: number; time: ListedOffset | undefined },
): number {
  switch (target.type) {
    case 'earliest':
      return log.startOffset
    case 'latest':
      return log.endOffset
    case 'offset':
      return Math.min(Math.max(target.offset, log.startOffset), log.endOffset)
    case 'time':
      // Nothing that new: the group goes on at the end.
      return log.time === undefined || log.time.offset < 0 ? log.endOffset : log.time.offset
  }
}

function totalsOf(moves: readonly Move[]) {
  const times = moves.flatMap(({ sinceMs }) => (sinceMs === null ? [] : [sinceMs]))
  return {
    recordsAgain: moves.reduce((sum, { records }) => sum + Math.max(0, records), 0),
    recordsSkipped: moves.reduce((sum, { records }) => sum + Math.max(0, -records), 0),
    bytesAgain: moves.reduce((sum, { bytes }) => sum + bytes, 0),
    sinceMs: times.length === 0 ? null : Math.min(...times),
  }
}

function linesOf(moves: readonly Move[], done: boolean): string[] {
  const rows = moves.map(({ topic, partition, from, to, records, bytes, sinceMs }) => [
    topic,
    partition,
    from ?? '-',
    to,
    records,
    formatBytes(bytes),
    sinceMs === null ? '-' : new Date(sinceMs).toISOString(),
  ])
  const { recordsAgain, recordsSkipped, bytesAgain, sinceMs } = totalsOf(moves)
  const age = sinceMs === null ? '' : `, the oldest ${formatDuration(Math.max(0, Date.now() - sinceMs))} old`
  const sentence = `${counted(recordsAgain, 'record')} (about ${formatBytes(bytesAgain)}) ${done ? 'will' : 'would'} be read again${age}`
  const skipped = recordsSkipped === 0 ? '' : `; ${formatCount(recordsSkipped)} ${done ? 'will' : 'would'} be skipped`
  return [
    ...table(['TOPIC', 'PARTITION', 'FROM', 'TO', 'RECORDS', 'BYTES', 'FIRST RECORD'], rows),
    `${sentence}${skipped}`,
    done ? 'done' : 'nothing was done; add --yes to do it',
  ]
}

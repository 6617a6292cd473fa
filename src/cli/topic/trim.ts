import type { Admin } from '../../client/admin.ts'
import type { TopicPartition } from '../../model/ids.ts'
import { withCluster } from '../connect.ts'
import { CommandError, ExitCode, failWith } from '../exit-code.ts'
import { parseTarget, type RewindTarget } from '../group/target.ts'
import { print, table } from '../output.ts'
import { counted, formatBytes } from '../quantity.ts'
import type { TopicFlags } from './command.ts'
import { type PartitionFacts, partitionFacts } from './partition-facts.ts'

/** What becomes of one partition. */
interface Cut extends TopicPartition {
  /** Where it begins now, and where it would. */
  readonly from: number
  readonly to: number
  /** Offsets that are gone then; of a compacted topic fewer records. */
  readonly records: number
  /** Of one copy, in proportion to the partition's size. */
  readonly bytes: number
}

/** Removes what is before an offset or a time from the start of a topic's partitions (DeleteRecords). */
export async function trimTopic(name: string, flags: TopicFlags): Promise<void> {
  const target = parseTarget(flags.before ?? '', Date.now())
  if (target === null || target.type === 'earliest')
    throw new CommandError(
      ExitCode.usage,
      `--before ${flags.before}: an offset, a time (2h = that long ago, 2026-01-31T12:00:00Z, 13 digits) or latest is wanted`,
    )
  await withCluster(flags, async ({ admin }) => {
    const cuts = await plan(admin, name, chosenOf(flags.partitions), target)
    if (!flags.yes) {
      await print(flags.format, { topic: name, done: false, partitions: cuts }, linesOf(cuts, false))
      return
    }
    const before = cuts.filter(({ from, to }) => to > from)
    const results = await admin.deleteRecords(
      before.map(({ topic, partition, to }) => ({ topic, partition, offset: to })),
    )
    const errors = before.map((cut) => results.get(cut)?.error ?? null)
    const done = errors.every((error) => error === null)
    await print(flags.format, { topic: name, done, partitions: cuts }, done ? linesOf(cuts, true) : [])
    failWith(errors)
  })
}

/** Null: all. */
function chosenOf(text: string | undefined): number[] | null {
  if (text === undefined) return null
  if (/^\d{1,9}(,\d{1,9})*$/.test(text)) return text.split(',').map(Number)
  throw new CommandError(ExitCode.usage, `--partitions ${text} is not a list of numbers`)
}

async function plan(
  admin: Admin,
  name: string,
  chosen: readonly number[] | null,
  target: RewindTarget,
): Promise<Cut[]> {
  const topics = await admin.describeTopics([name])
  const count = topics[0]?.partitions.length ?? 0
  const missing = chosen?.find((partition) => partition >= count)
  if (missing !== undefined)
    throw new CommandError(ExitCode.failed, `${name} has no partition ${missing}, only 0 to ${count - 1}`)
  const facts = await partitionFacts(admin, topics)
  const partitions = facts.keys().filter(({ partition }) => chosen?.includes(partition) ?? true)
  const times =
    target.type === 'time'
      ? await admin.listOffsets(partitions.map((one) => ({ ...one, at: target.timestampMs })))
      : null
  return partitions
    .map((one) =>
      cutOf(one, facts.get(one), target.type === 'offset' ? target.offset : (times?.get(one)?.offset ?? -1)),
    )
    .toSorted((left, right) => left.partition - right.partition)
}

/** `wanted` below zero: the end, as nothing is that new. */
function cutOf(one: TopicPartition, facts: PartitionFacts | undefined, wanted: number): Cut {
  const from = facts?.startOffset ?? 0
  const end = facts?.endOffset ?? 0
  const to = wanted < 0 ? end : Math.max(from, Math.min(wanted, end))
  const records = to - from
  const bytes = Math.round(((facts?.bytes ?? 0) * records) / Math.max(1, end - from))
  return { ...one, from, to, records, bytes }
}

function linesOf(cuts: readonly Cut[], done: boolean): string[] {
  const records = cuts.reduce((sum, cut) => sum + cut.records, 0)
  const bytes = cuts.reduce((sum, cut) => sum + cut.bytes, 0)
  const rows = cuts.map((cut) => [cut.partition, cut.from, cut.to, cut.records, formatBytes(cut.bytes)])
  return [
    ...table(['PARTITION', 'START', 'NEW START', 'RECORDS', 'SIZE'], rows),
    `${counted(records, 'record')} (about ${formatBytes(bytes)} a copy) ${done ? 'removed' : 'would be removed, for ever'}`,
    ...(done && records > 0 ? ['their bytes go with whole segments: topic stats tells what is left'] : []),
    ...(done ? [] : ['nothing was done; add --yes to do it']),
  ]
}

import type { Admin } from '../../client/admin.ts'
import type { TopicPartition } from '../../model/ids.ts'
import type { Session } from '../connect.ts'
import type { Flags } from './flags.ts'
import { atCurrent, atEdge, atTime, type NewOffset, shifted, within } from './groups-offsets.ts'
import { partitionsOfTopics } from './groups-topics.ts'
import { hashOfPartition, hashOfText, inHashOrder, padded } from './java.ts'
import { textOf } from './properties.ts'
import { CommandFailure, out, usage } from './tool.ts'
import { durationMs, momentMs } from './times.ts'

/** Where offsets may go, in the order in which Kafka names them. */
export const SCENARIOS = [
  'shift-by',
  'to-offset',
  'to-earliest',
  'to-current',
  'to-latest',
  'by-duration',
  'to-datetime',
  'from-file',
]

/** kafka-consumer-groups --reset-offsets. */
export async function resetOffsets({ admin }: Session, flags: Flags, groupIds: readonly string[]): Promise<void> {
  const plans: { groupId: string; offsets: readonly NewOffset[] }[] = []
  for (const { groupId, state } of await admin.groups.describe(groupIds)) {
    if (state === 'Empty' || state === 'Dead') {
      const offsets = await wantedOf(admin, flags, groupId, await chosen(admin, flags, groupId))
      if (flags.has('execute')) await admin.groups.commitOffsets(groupId, offsets)
      plans.push({ groupId, offsets: inHashOrder(offsets, hashOfPartition) })
    } else {
      await out(
        `\nError: Assignments can only be reset if the group '${groupId}' is inactive, but the current state is ${state}.\n`,
      )
      plans.push({ groupId, offsets: [] })
    }
  }
  const ordered = inHashOrder(plans, ({ groupId }) => hashOfText(groupId))
  const rows = ordered.flatMap(({ groupId, offsets }) =>
    offsets.map(({ topic, partition, offset }) => [groupId, topic, partition, offset]),
  )
  if (flags.has('export')) await out(`${rows.map((row) => `${csv(flags, row)}\n`).join('')}\n`)
  else await printPlan(rows)
}

/** Of a single group its name is left out. */
function csv(flags: Flags, row: readonly (string | number)[]): string {
  return (flags.values('group').length === 1 ? row.slice(1) : row).join(',')
}

async function printPlan(rows: readonly (readonly (string | number)[])[]): Promise<void> {
  const widest = (column: number) => Math.max(15, ...rows.map((row) => String(row[column]).length))
  const widths = [widest(0), widest(1), 10]
  const lines = [['GROUP', 'TOPIC', 'PARTITION', 'NEW-OFFSET'], ...rows].map((row) => `\n${padded(widths, row)}`)
  await out(`${lines.join('')}\n`)
}

async function chosen(admin: Admin, flags: Flags, groupId: string): Promise<TopicPartition[]> {
  if (flags.has('all-topics')) return (await admin.groups.offsets(groupId)).keys()
  if (!flags.has('topic')) {
    if (flags.has('from-file')) return []
    throw usage('One of the reset scopes should be defined: --all-topics, --topic.')
  }
  const { partitions, missing } = await partitionsOfTopics(admin, flags.values('topic'))
  if (missing.length > 0) throw new CommandFailure('This server does not host this topic-partition.')
  return partitions
}

async function wantedOf(
  admin: Admin,
  flags: Flags,
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<NewOffset[]> {
  if (flags.has('to-offset'))
    return within(
      admin,
      at(partitions, () => flags.number('to-offset') ?? 0),
    )
  if (flags.has('to-earliest')) return atEdge(admin, partitions, 'earliest')
  if (flags.has('to-latest')) return atEdge(admin, partitions, 'latest')
  if (flags.has('shift-by')) return shifted(admin, groupId, partitions, flags.number('shift-by') ?? 0)
  if (flags.has('to-datetime')) return atTime(admin, partitions, momentMs(flags.value('to-datetime') ?? ''))
  if (flags.has('by-duration'))
    return atTime(admin, partitions, Date.now() - durationMs(flags.value('by-duration') ?? ''))
  if (flags.has('from-file')) return within(admin, fromFile(flags, groupId))
  if (flags.has('to-current')) return atCurrent(admin, groupId, partitions)
  const names = SCENARIOS.map((name) => `[${name}]`).join(', ')
  throw usage(`Option '[reset-offsets]' requires one of the following scenarios: [${names}]`)
}

function at(partitions: readonly TopicPartition[], offsetOf: (one: TopicPartition) => number): NewOffset[] {
  return partitions.map(({ topic, partition }) => ({ topic, partition, offset: offsetOf({ topic, partition }) }))
}

/** `topic,partition,offset` lines, or with the group in front of each. */
function fromFile(flags: Flags, groupId: string): NewOffset[] {
  const lines = textOf(flags.value('from-file') ?? '').split('\n')
  return lines.flatMap((line) => {
    const cells = line.trim().split(',')
    if (line.trim() === '') return []
    const [group, topic, partition, offset] = cells.length === 3 ? [groupId, ...cells] : cells
    return group === groupId && topic !== undefined
      ? [{ topic, partition: Number(partition), offset: Number(offset) }]
      : []
  })
}

import type { GroupDescription, MemberDescription } from '../../client/group-admin.ts'
import { byName } from '../../client/group-lag.ts'
import type { CommittedOffset } from '../../client/offset-commits.ts'
import { PartitionMap } from '../../client/topic-partitions.ts'
import type { TopicPartition } from '../../model/ids.ts'
import type { Session } from '../connect.ts'
import type { Flags } from './flags.ts'
import { padded } from './java.ts'
import { err, out } from './tool.ts'

const MISSING = '-'
const WIDTH_MIN = 15

/** kafka-consumer-groups --describe. */
export async function describeGroups(session: Session, flags: Flags, groupIds: readonly string[]): Promise<void> {
  const groups = await session.admin.groups.describe(groupIds)
  const dead = groups.find(({ state }) => state === 'Dead')
  if (dead !== undefined) {
    const text = `org.apache.kafka.common.errors.GroupIdNotFoundException: Group ${dead.groupId} not found.`
    await out(`\nError: Executing consumer group command failed due to ${text}\n`)
    return
  }
  const sorted = groups.toSorted((left, right) => (left.groupId < right.groupId ? -1 : 1))
  const show = flags.has('members') ? showMembers : flags.has('state') ? showState : showOffsets
  for (const group of sorted) await show(session, group, flags.has('verbose'))
}

/** Whether there is a table to print. */
function isWorthATable({ groupId, state }: GroupDescription, rows: number): boolean {
  if (state === 'Empty') err(`\nConsumer group '${groupId}' has no active members.\n`)
  if (['PreparingRebalance', 'CompletingRebalance', 'Assigning', 'Reconciling'].includes(state))
    err(`\nWarning: Consumer group '${groupId}' is rebalancing.\n`)
  return rows > 0
}

/** Each row begins with its line break. */
async function printTable(widths: readonly number[], rows: readonly (readonly (string | number)[])[], end = '') {
  await out(`${rows.map((row) => `\n${padded(widths, row)}${end}`).join('')}\n`)
}

async function showOffsets({ admin }: Session, group: GroupDescription, isVerbose: boolean): Promise<void> {
  const committed = await admin.groups.offsets(group.groupId)
  const owned = group.members
    .filter(({ assignment }) => (assignment?.length ?? 0) > 0)
    .toSorted((left, right) => (right.assignment?.length ?? 0) - (left.assignment?.length ?? 0))
  const assigned = new PartitionMap(
    owned.flatMap(({ assignment }) => (assignment ?? []).map((one) => [one, true] as const)),
  )
  const idle = committed.keys().filter((one) => !assigned.has(one))
  const ends = await admin.listOffsets([...assigned.keys(), ...idle].map((one) => ({ ...one, at: 'latest' })))
  const rowOf = (one: TopicPartition, member: MemberDescription | null) =>
    offsetRow(group.groupId, one, committed.get(one), ends.get(one)?.offset, member, isVerbose)
  const rows = [
    ...owned.flatMap((member) => (member.assignment ?? []).toSorted(byName).map((one) => rowOf(one, member))),
    ...idle.toSorted(byName).map((one) => rowOf(one, null)),
  ]
  if (!isWorthATable(group, rows.length)) return
  const heads = [
    'GROUP',
    'TOPIC',
    'PARTITION',
    'CURRENT-OFFSET',
    'LOG-END-OFFSET',
    'LAG',
    'CONSUMER-ID',
    'HOST',
    'CLIENT-ID',
  ]
  if (isVerbose) heads.splice(3, 0, 'LEADER-EPOCH')
  const widest = (column: number) => Math.max(WIDTH_MIN, ...rows.map((row) => String(row[column]).length))
  const extra = isVerbose ? 1 : 0
  const numbers = Array.from({ length: 3 + extra }, () => 15)
  const widths = [widest(0), widest(1), 10, ...numbers, widest(6 + extra), widest(7 + extra)]
  await printTable(widths, [heads, ...rows])
}

function offsetRow(
  groupId: string,
  { topic, partition }: TopicPartition,
  committed: CommittedOffset | undefined,
  end: number | undefined,
  member: MemberDescription | null,
  isVerbose: boolean,
): (string | number)[] {
  const lag = committed === undefined || end === undefined ? MISSING : end - committed.offset
  const epoch = committed === undefined || committed.leaderEpoch < 0 ? MISSING : committed.leaderEpoch
  return [
    groupId,
    topic,
    partition,
    ...(isVerbose ? [epoch] : []),
    committed?.offset ?? MISSING,
    end ?? MISSING,
    lag,
    member?.memberId ?? MISSING,
    member?.clientHost ?? MISSING,
    member?.clientId ?? MISSING,
  ]
}

async function showMembers(_: Session, group: GroupDescription, isVerbose: boolean): Promise<void> {
  const { groupId, members } = group
  if (!isWorthATable(group, 1)) return
  const hasNames = members.some(({ groupInstanceId }) => (groupInstanceId ?? '') !== '')
  const rows = members.map(({ memberId, groupInstanceId, clientHost, clientId, assignment }) => [
    groupId,
    memberId,
    ...(hasNames ? [groupInstanceId ?? ''] : []),
    clientHost,
    clientId,
    assignment?.length ?? 0,
    ...(isVerbose ? [MISSING, assignmentText(assignment ?? []), MISSING, MISSING] : []),
  ])
  const heads = ['GROUP', 'CONSUMER-ID', ...(hasNames ? ['GROUP-INSTANCE-ID'] : []), 'HOST', 'CLIENT-ID', '#PARTITIONS']
  if (isVerbose) heads.push('CURRENT-EPOCH', 'CURRENT-ASSIGNMENT', 'TARGET-EPOCH', 'TARGET-ASSIGNMENT')
  const named = heads.indexOf('#PARTITIONS')
  const widest = (column: number) =>
    Math.max(heads[column] === 'GROUP-INSTANCE-ID' ? 17 : WIDTH_MIN, ...rows.map((row) => String(row[column]).length))
  const first = Array.from({ length: named }, (__, column) => widest(column))
  const assignmentWidth = Math.max(20, ...rows.map((row) => String(row[named + 2] ?? '').length))
  const widths = [...first, 15, ...(isVerbose ? [15, assignmentWidth, 15, 20] : [])]
  await printTable(widths, [heads, ...rows], isVerbose ? '' : ' ')
}

/** `orders:0,1;audit:2` */
function assignmentText(partitions: readonly TopicPartition[]): string {
  const topics = Map.groupBy(partitions, ({ topic }) => topic)
  const texts = [...topics].map(
    ([topic, own]) =>
      `${topic}:${own
        .map(({ partition }) => partition)
        .toSorted((left, right) => left - right)
        .join(',')}`,
  )
  return texts.length === 0 ? MISSING : texts.toSorted().join(';')
}

async function showState({ client }: Session, group: GroupDescription, isVerbose: boolean): Promise<void> {
  const { groupId, protocol, state, members } = group
  if (!isWorthATable(group, 1)) return
  const nodeId = await client.retry('coordinator', () => client.findCoordinator(groupId))
  const { host, port } = client.view.brokers.get(nodeId) ?? { host: '', port: 0 }
  const coordinator = `${host}:${port}  (${nodeId})`
  const strategy = protocol === '' ? MISSING : protocol
  const heads = ['GROUP', 'COORDINATOR (ID)', 'ASSIGNMENT-STRATEGY', 'STATE', '#MEMBERS']
  const row: (string | number)[] = [groupId, coordinator, strategy, state, members.length]
  if (isVerbose) {
    heads.splice(4, 0, 'GROUP-EPOCH', 'TARGET-ASSIGNMENT-EPOCH')
    row.splice(4, 0, MISSING, MISSING)
  }
  const widths = [Math.max(WIDTH_MIN, groupId.length), Math.max(25, coordinator.length), 20, 20]
  if (isVerbose) widths.push(15, 25)
  await printTable(widths, [heads, row])
}

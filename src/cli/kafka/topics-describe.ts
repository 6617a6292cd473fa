import type { Admin, ConfigEntry } from '../../client/admin.ts'
import type { PartitionState, Reassignment } from '../../client/cluster-admin.ts'
import type { TopicInfo } from '../../client/metadata.ts'
import { PartitionMap } from '../../client/topic-partitions.ts'
import type { Flags } from './flags.ts'
import { hashOfText, inHashOrder } from './java.ts'
import { out } from './tool.ts'
import { inTopicOrder, REPORTS, refuseMissing, topicFailure, topicNames } from './topics-choice.ts'

interface Described {
  readonly topic: TopicInfo
  readonly partitions: readonly PartitionState[]
  readonly configs: readonly ConfigEntry[]
  readonly reassignments: PartitionMap<Reassignment>
  readonly alive: ReadonlySet<number>
}

/** kafka-topics --describe. */
export async function describeTopics(admin: Admin, flags: Flags): Promise<void> {
  const topics = await chosen(admin, flags)
  if (topics.length === 0) return
  const names = topics.map(({ name }) => name)
  const [partitions, configs, cluster, moving] = await Promise.all([
    admin.cluster.partitions(names),
    admin.describeConfigs(names.map((name) => ({ kind: 'topic' as const, name }))),
    admin.describeCluster(),
    admin.cluster.reassignments(),
  ])
  const reassignments = new PartitionMap(moving.map((each) => [each, each] as const))
  const alive = new Set(cluster.brokers.filter(({ isFenced }) => !isFenced).map(({ nodeId }) => nodeId))
  for (const topic of inTopicOrder(topics)) {
    const own = partitions.filter((each) => each.topic === topic.name)
    const entries = configs.find(({ name }) => name === topic.name)?.configs ?? []
    await out(linesOf({ topic, partitions: own, configs: entries, reassignments, alive }, flags).join(''))
  }
}

/** By `--topic-id` where it was given, else by name. */
async function chosen(admin: Admin, flags: Flags): Promise<TopicInfo[]> {
  const all = await admin.listTopics({ internal: true })
  const id = flags.value('topic-id')
  if (id === undefined) {
    const names = new Set(await topicNames(admin, flags))
    refuseMissing(flags, 'Topic', flags.value('topic'), names.size)
    return all.filter(({ name }) => names.has(name))
  }
  checkId(id)
  const found = all.filter(({ topicId }) => topicId === id)
  refuseMissing(flags, 'TopicId', id, found.length)
  return found
}

const ID_BYTES = 16

function checkId(id: string): void {
  const { length } = Buffer.from(id, 'base64url')
  if (length !== ID_BYTES)
    throw topicFailure(
      `Input string \`${id}\` decoded as ${length} bytes, which is not equal to the expected ${ID_BYTES} bytes of a base64-encoded UUID`,
    )
}

function linesOf(described: Described, flags: Flags): string[] {
  const report = REPORTS.find((name) => flags.has(name))
  const changed = inHashOrder(described.configs, ({ name }) => hashOfText(name)).filter(
    ({ source }) => source !== 'default',
  )
  const overrides = flags.has('topics-with-overrides')
  const showsTopic = report === undefined && (!overrides || changed.length > 0)
  const partitions = overrides ? [] : described.partitions.filter((each) => matches(report, each, described))
  return [
    ...(showsTopic ? [topicLine(described, changed)] : []),
    ...partitions.map((partition) => partitionLine(partition, described)),
  ]
}

function topicLine({ topic, partitions, reassignments }: Described, changed: readonly ConfigEntry[]): string {
  const [first] = partitions
  const factor = first === undefined ? 0 : replicationFactor(first, reassignments)
  const configs = changed.map(({ name, value }) => `${name}=${value}`).join(',')
  return `Topic: ${topic.name}\tTopicId: ${topic.topicId}\tPartitionCount: ${partitions.length}\tReplicationFactor: ${factor}\tConfigs: ${configs}\n`
}

function partitionLine(state: PartitionState, { reassignments }: Described): string {
  const { topic, partition, leader, replicas, isr, eligible, lastEligible } = state
  const moving = reassignments.get(state)
  const moves =
    moving === undefined
      ? ''
      : `\tAdding Replicas: ${moving.adding.join(',')}\tRemoving Replicas: ${moving.removing.join(',')}`
  const shownLeader = leader < 0 ? 'none' : leader
  return (
    `\tTopic: ${topic}\tPartition: ${partition}\tLeader: ${shownLeader}\tReplicas: ${replicas.join(',')}\tIsr: ${isr.join(',')}` +
    `${moves}\tElr: ${eligible.join(',')}\tLastKnownElr: ${lastEligible.join(',')}\n`
  )
}

/** Without what a move is adding, while it goes on. */
function replicationFactor(state: PartitionState, reassignments: PartitionMap<Reassignment>): number {
  const { adding = [], removing = [] } = reassignments.get(state) ?? {}
  const isMoving = state.replicas.some((id) => adding.includes(id) || removing.includes(id))
  return state.replicas.length - (isMoving ? adding.length : 0)
}

function matches(report: (typeof REPORTS)[number] | undefined, state: PartitionState, described: Described): boolean {
  const minimum = Number(described.configs.find(({ name }) => name === 'min.insync.replicas')?.value ?? 1)
  const { leader, isr } = state
  switch (report) {
    case undefined:
      return true
    case 'under-replicated-partitions':
      return replicationFactor(state, described.reassignments) > isr.length
    case 'under-min-isr-partitions':
      return leader < 0 || isr.length < minimum
    case 'at-min-isr-partitions':
      return isr.length === minimum
    case 'unavailable-partitions':
      return leader < 0 || !described.alive.has(leader)
  }
}

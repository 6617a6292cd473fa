import type { Admin } from '../../client/admin.ts'
import { BrokerError } from '../../rpc/errors.ts'
import { clientErrorOf, messageOf } from './java.ts'
import { FlagError, type FlagKinds, type Flags } from './flags.ts'
import { clientProperties } from './properties.ts'
import { err, out, refusePairs, requireFlags, type Tool, ToolExit, usage, withServers } from './tool.ts'
import { REPORTS, refuseMissing, topicFailure as failed, topicNames } from './topics-choice.ts'
import { describeTopics } from './topics-describe.ts'

const ACTIONS = ['list', 'describe', 'create', 'alter', 'delete'] as const
const KINDS: FlagKinds = {
  ...Object.fromEntries([...ACTIONS, ...REPORTS].map((name) => [name, 'switch' as const])),
  'bootstrap-server': 'value',
  'command-config': 'value',
  config: 'value',
  'delete-config': 'value',
  'exclude-internal': 'switch',
  'if-exists': 'switch',
  'if-not-exists': 'switch',
  'partition-size-limit-per-response': 'int',
  partitions: 'int',
  'replica-assignment': 'value',
  'replication-factor': 'int',
  topic: 'value',
  'topic-id': 'value',
  'topics-with-overrides': 'switch',
}

/** kafka-topics. */
export const topicsTool: Tool = {
  kinds: KINDS,
  async run(flags) {
    await check(flags)
    clientProperties(flags, { files: ['command-config'], pairs: [], taken: ['client.id'] })
    try {
      await withServers(flags.value('bootstrap-server') ?? '', {}, ({ admin }) => act(admin, flags))
      return 0
    } catch (error) {
      if (error instanceof ToolExit) throw error
      throw failed(error instanceof FlagError ? error.message : textOf(clientErrorOf(error)))
    }
  },
}

function textOf(error: Error): string {
  return error instanceof BrokerError ? messageOf(error) : error.message
}

async function check(flags: Flags): Promise<void> {
  if (ACTIONS.filter((action) => flags.has(action)).length !== 1)
    throw usage('Command must include exactly one action: --list, --describe, --create, --alter or --delete')
  if (flags.has('delete-config'))
    err(
      'delete-config option is no longer supported and deprecated since version 4.0. The config will be fully removed in future releases.\n',
    )
  if (!flags.has('bootstrap-server')) throw new ToolExit(1, 'stderr', '--bootstrap-server must be specified')
  if (flags.has('describe') && flags.has('if-exists') && !flags.has('topic') && !flags.has('topic-id'))
    throw usage('--topic or --topic-id is required to describe a topic')
  if (flags.has('describe') && flags.has('if-exists') && flags.has('topic') && flags.has('topic-id'))
    await out(
      'Only topic id will be used when both --topic and --topic-id are specified and topicId is not Uuid.ZERO_UUID\n',
    )
  if (!flags.has('list') && !flags.has('describe')) requireFlags(flags, 'topic')
  if (flags.has('alter')) {
    if (flags.has('config'))
      throw usage(
        'Option combination "[[bootstrap-server], [config]]" can\'t be used with option "[alter]" (To alter topic configurations, the kafka-configs tool can be used.)',
      )
    requireFlags(flags, 'partitions')
  }
  checkPairs(flags)
}

/** Which flag goes with which action. */
function checkPairs(flags: Flags): void {
  const notWith = (flag: string, ...actions: string[]) =>
    refusePairs(
      flags,
      flag,
      ['alter', 'create', 'delete', 'describe', 'list'].filter((action) => !actions.includes(action)),
    )
  notWith('config', 'alter', 'create')
  notWith('partitions', 'alter', 'create')
  notWith('replication-factor', 'create')
  notWith('replica-assignment', 'alter', 'create')
  if (flags.has('create')) refusePairs(flags, 'replica-assignment', ['partitions', 'replication-factor'])
  for (const report of REPORTS) {
    refusePairs(flags, report, [...REPORTS, 'topics-with-overrides'])
    notWith(report, 'describe')
  }
  notWith('topics-with-overrides', 'describe')
  notWith('if-exists', 'alter', 'delete', 'describe')
  notWith('if-not-exists', 'create')
  notWith('exclude-internal', 'list', 'describe')
}

async function act(admin: Admin, flags: Flags): Promise<void> {
  if (flags.has('create')) return create(admin, flags)
  if (flags.has('alter')) return alter(admin, flags)
  if (flags.has('describe')) return describeTopics(admin, flags)
  if (flags.has('delete')) return remove(admin, flags)
  const names = await topicNames(admin, flags)
  return out(`${names.join('\n')}\n`)
}

async function create(admin: Admin, flags: Flags): Promise<void> {
  const name = flags.value('topic') ?? ''
  const partitions = flags.number('partitions')
  const replicationFactor = flags.number('replication-factor')
  const assignments = assignmentsOf(flags)
  const configs = await configsOf(flags)
  if (/[._]/.test(name))
    await out(
      "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. To avoid issues it is best to use either, but not both.\n",
    )
  if (replicationFactor !== undefined && !(replicationFactor >= 1 && replicationFactor <= 32_767))
    throw failed('The replication factor must be between 1 and 32767 inclusive')
  if (partitions !== undefined && partitions < 1) throw failed('The partitions must be greater than 0')
  const [created] = await admin.createTopics([
    {
      name,
      configs,
      ...(assignments === null ? {} : { assignments }),
      ...(partitions === undefined ? {} : { partitions }),
      ...(replicationFactor === undefined ? {} : { replicationFactor }),
    },
  ])
  const error = created?.error ?? null
  if (error === null) return out(`Created topic ${name}.\n`)
  if (error.code !== 'TOPIC_ALREADY_EXISTS' || !flags.has('if-not-exists')) throw failed(messageOf(error))
}

/** `1:2,2:3`: the nodes of each partition. */
function assignmentsOf(flags: Flags): number[][] | null {
  const text = flags.value('replica-assignment')
  if (text === undefined || text === '') return null
  const lists = text.split(',').map((part) =>
    part.split(':').map((word) => {
      if (/^[+-]?\d{1,9}$/.test(word.trim())) return Number(word)
      throw failed(`For input string: "${word.trim()}"`)
    }),
  )
  for (const [index, nodes] of lists.entries()) {
    const doubled = nodes.filter((node, at) => nodes.indexOf(node) !== at)
    if (doubled.length > 0)
      throw failed(`Partition replica lists may not contain duplicate entries: ${[...new Set(doubled)].join(',')}`)
    if (nodes.length !== lists[0]?.length)
      throw failed(`Partition ${index} has different replication factor: [${nodes.join(', ')}]`)
  }
  return lists
}

async function configsOf(flags: Flags): Promise<Record<string, string>> {
  const pairs = flags.values('config').map((text) => text.split(/\s*=\s*/))
  if (pairs.length === 0) return {}
  if (pairs.some((pair) => pair.length !== 2 || pair[1] === ''))
    throw failed('requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".')
  const { topicConfigs } = await import('../../controller/config-defs.ts')
  const unknown = pairs.find(([key = '']) => !topicConfigs.has(key.trim()))
  if (unknown !== undefined) throw failed(`Unknown topic config name: ${unknown[0]?.trim()}`)
  return Object.fromEntries(pairs.map(([key = '', value = '']) => [key.trim(), value.trim()]))
}

async function alter(admin: Admin, flags: Flags): Promise<void> {
  const names = await existing(admin, flags)
  const partitions = flags.number('partitions') ?? 0
  if (flags.has('replica-assignment')) await alterAssigned(admin, flags, names, partitions)
  else if (names.length > 0) throwFirst(await admin.createPartitions(names.map((name) => ({ name, partitions }))))
}

/** New partitions on the nodes that the list names behind those that are there. */
async function alterAssigned(admin: Admin, flags: Flags, names: readonly string[], partitions: number): Promise<void> {
  const all = assignmentsOf(flags) ?? []
  const topics = await admin.describeTopics(names)
  throwFirst(
    await admin.createPartitions(
      topics.map((topic) => ({ name: topic.name, partitions, assignments: all.slice(topic.partitions.length) })),
    ),
  )
}

async function remove(admin: Admin, flags: Flags): Promise<void> {
  const names = await existing(admin, flags)
  if (names.length > 0) throwFirst(await admin.deleteTopics(names))
}

function throwFirst(results: readonly { readonly error: BrokerError | null }[]): void {
  for (const { error } of results) if (error !== null) throw failed(messageOf(error))
}

async function existing(admin: Admin, flags: Flags): Promise<string[]> {
  const names = await topicNames(admin, flags)
  refuseMissing(flags, 'Topic', flags.value('topic'), names.length)
  return names
}

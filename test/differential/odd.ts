import { structOf } from '../../src/protocol/layout.ts'
import { existsIn, isNullable } from '../../src/protocol/layout.ts'
import type { AnyField, StructType, Type } from '../../src/protocol/field.ts'
import type { Model } from './model.ts'
import { type Body, Later, type Step } from './step.ts'

/** Tagged fields from here on are Millrace's own. */
const OWN_TAGS = 10_000

/** Left as they are: they make a request wait, have no answer, or change what other sequences meet. Ours are no part of Kafka. */
const LEFT_ALONE: Readonly<Record<string, readonly string[]>> = {
  '*': ['timeoutMs', 'maxWaitMs', 'rebalanceTimeoutMs', 'acks', 'transactionalId', 'validateOnly'],
  Fetch: [
    'durableOffset',
    'writtenOffset',
    'wake',
    'replicaState',
    'replicaId',
    'minBytes',
    'maxBytes',
    'partitionMaxBytes',
    'isolationLevel',
    'sessionId',
    'topicId',
  ],
  ListOffsets: ['isolationLevel'],
  FindCoordinator: ['keyType'],
  Metadata: ['topicId', 'name'],
  AlterPartitionReassignments: ['topics'],
  UpdateFeatures: ['upgradeType', 'allowDowngrade'],
  UnregisterBroker: ['brokerId'],
  UnregisterController: ['controllerId'],
  AddRaftVoter: ['clusterId'],
  RemoveRaftVoter: ['clusterId'],
  IncrementalAlterConfigs: ['resourceType', 'resourceName', 'configOperation'],
  DescribeConfigs: ['configurationKeys'],
  AlterConfigs: ['resourceType', 'resourceName'],
}

/** APIs that say of each element what they think of it, also when it comes twice. */
const DOUBLED = new Set([
  'CreateTopics',
  'DeleteTopics',
  'CreatePartitions',
  'IncrementalAlterConfigs',
  'DescribeConfigs',
  'Metadata',
  'DescribeTopicPartitions',
  'DescribeGroups',
  'DeleteGroups',
  'LeaveGroup',
  'FindCoordinator',
  'SyncGroup',
  'ListGroups',
  'ListConfigResources',
  'UpdateFeatures',
])

/** With a name that is empty Kafka answers UNKNOWN_SERVER_ERROR for the whole request. */
const NAMED = new Set(['DescribeTopicPartitions'])

/** A place in a request whose value can be replaced. */
interface Place {
  readonly owner: Record<string, unknown> | unknown[]
  readonly key: string | number
  readonly type: Type
  readonly nullable: boolean
}

/** The same request with one field set to something odd that the schema allows. */
export function oddly(step: Step, model: Model): Step {
  const { random } = model
  const body = copied(step.body) as Body
  const places: Place[] = []
  collect(structOf(step.api.request), body, step, places)
  if (places.length === 0) return step
  const { owner, key, type, nullable } = random.pick(places)
  const value =
    nullable && random.chance(0.3)
      ? null
      : oddValue(type, (owner as Record<string | number, unknown>)[key], model, DOUBLED.has(step.api.name))
  if (value === '' && NAMED.has(step.api.name)) return step
  ;(owner as Record<string | number, unknown>)[key] = value
  return { ...step, body }
}

function copied(value: unknown): unknown {
  if (value instanceof Later || Buffer.isBuffer(value) || value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(copied)
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copied(item)]))
}

function collect(struct: StructType, owner: Body, step: Step, found: Place[]): void {
  const places = DOUBLED.has(step.api.name)
    ? []
    : ['index', 'partition', 'partitionIndex', 'partitions', 'partitionIndexes']
  const alone = [...(LEFT_ALONE['*'] ?? []), ...(LEFT_ALONE[step.api.name] ?? []), ...places]
  for (const [name, { type, traits }] of Object.entries(struct.fields) as [string, AnyField][]) {
    if (!existsIn(traits, step.version) || alone.includes(name) || !(name in owner) || type.kind === 'records') continue
    if ((traits.tag ?? 0) >= OWN_TAGS) continue
    found.push({ owner, key: name, type, nullable: isNullable(traits, step.version) })
    descend(type, owner[name], step, found)
  }
}

function descend(type: Type, value: unknown, step: Step, places: Place[]): void {
  if (value === null || value === undefined) return
  if (type.kind === 'struct') return collect(type, value as Body, step, places)
  if (type.kind !== 'array' || !Array.isArray(value)) return
  value.forEach((item, index) => {
    if (type.of.kind === 'struct') collect(type.of, item as Body, step, places)
    else places.push({ owner: value, key: index, type: type.of, nullable: false })
  })
}

function oddValue(type: Type, now: unknown, { random, prefix }: Model, doubled: boolean): unknown {
  switch (type.kind) {
    case 'bool':
      return now !== true
    case 'string':
      return random.pick([
        '',
        `${prefix}nope`,
        `${prefix}a b`,
        `${prefix}größe`,
        'x'.repeat(250),
        '.',
        doubled ? `${prefix}t0` : '..',
      ])
    case 'uuid':
      return random.pick(['AAAAAAAAAAAAAAAAAAAAAA', 'AAAAAAAAAAAAAAAAAAAAAQ', random.bytes(16).toString('base64url')])
    case 'bytes':
      return random.bytes(random.pick([0, 1, 30]))
    case 'array': {
      const items = Array.isArray(now) ? now : []
      return !doubled || random.chance(0.5) ? [] : [...items, ...items]
    }
    case 'struct':
      return now
    default:
      return random.pick(ODD_NUMBERS[type.kind] ?? [0, 1])
  }
}

const ODD_NUMBERS: Readonly<Record<string, readonly number[]>> = {
  int8: [0, 1, 2, 3, -1, 127, -128],
  int16: [0, 1, 2, -1, -2, 32_767, -32_768],
  uint16: [0, 1, 65_535],
  // Not more, since a number of partitions may be meant.
  int32: [0, 1, 2, 3, -1, -2, 20_000, -2_147_483_648],
  int64: [0, 1, -1, -2, 5, 2 ** 31, 2 ** 53 - 1, -(2 ** 53)],
}

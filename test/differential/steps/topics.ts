import { CreatePartitions } from '../../../src/protocol/apis/create-partitions.ts'
import { CreateTopics } from '../../../src/protocol/apis/create-topics.ts'
import { DeleteTopics } from '../../../src/protocol/apis/delete-topics.ts'
import { DescribeTopicPartitions } from '../../../src/protocol/apis/describe-topic-partitions.ts'
import { Metadata } from '../../../src/protocol/apis/metadata.ts'
import type { Model, ModelTopic } from '../model.ts'
import type { Body, Step } from '../step.ts'
import { topicConfig } from './config-values.ts'

const ZERO_ID = 'AAAAAAAAAAAAAAAAAAAAAA'
const TIMEOUT_MS = 30_000

/** Topics to work with, always good ones. */
export function setUpTopics(model: Model, count: number, configs: Body[] = []): Step[] {
  const topics = model.topics.slice(0, count)
  const wanted = topics.map((topic) => {
    born(topic, model.random.between(1, 3))
    return { name: topic.name, numPartitions: topic.partitions, replicationFactor: 1, assignments: [], configs }
  })
  const body = { topics: wanted, timeoutMs: TIMEOUT_MS, validateOnly: false }
  return [{ api: CreateTopics, version: 7, body }, model.askForIds(topics)]
}

function born(topic: ModelTopic, partitions: number): void {
  topic.exists = true
  topic.partitions = partitions
  topic.incarnation++
  topic.ends.splice(0)
}

export function createTopics(model: Model): Step[] {
  const { random } = model
  const topics = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => random.pick(model.topics))
  const validateOnly = random.chance(0.3)
  const version = model.version(CreateTopics)
  const wanted = topics.map((topic) => ({ topic, spec: topicSpec(model, topic) }))
  const body = { topics: wanted.map(({ spec }) => spec), timeoutMs: TIMEOUT_MS, validateOnly }
  const step = { api: CreateTopics, version, body }
  if (validateOnly) return [step]
  // Which of them are made the servers decide; to believe so of the good ones is enough.
  const named = new Set(topics.map(({ name }) => name))
  for (const { topic, spec } of wanted) {
    const good = spec.numPartitions > 0 && spec.configs.every(({ name }) => name !== 'no.such.config')
    if (!topic.exists && good && named.size === topics.length) born(topic, spec.numPartitions)
  }
  return [step, model.askForIds(topics)]
}

function topicSpec(model: Model, topic: ModelTopic) {
  const { random } = model
  const assigned = random.chance(0.15)
  const assignments = assigned ? assignmentsOf(model) : []
  const odd = random.chance(0.15)
  const numPartitions = assigned && !odd ? -1 : odd ? random.pick([0, -1, -2, 2]) : random.between(1, 3)
  const replicationFactor = assigned && !odd ? -1 : odd ? random.pick([0, -1, -2, 2, 1]) : random.pick([1, 1, 1, -1])
  const configs = Array.from({ length: random.pick([0, 0, 1, 2]) }, () => topicConfig(random))
  return { name: topic.name, numPartitions, replicationFactor, assignments, configs }
}

function assignmentsOf({ random }: Model) {
  const good = Array.from({ length: random.between(1, 3) }, (_, partitionIndex) => ({ partitionIndex, brokerIds: [1] }))
  if (random.chance(0.5)) return good
  const first = {
    partitionIndex: random.pick([0, 1, 5, -1]),
    brokerIds: random.pick([[1], [], [1, 1], [2], [-1], [1, 2]]),
  }
  return random.chance(0.5) ? [first] : [...good, first]
}

export function deleteTopics(model: Model): Step[] {
  const { random } = model
  const topics = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => model.topic())
  const version = model.version(DeleteTopics)
  const byId = topics.map((topic) => {
    const kind = random.below(10)
    if (kind < 5) return { name: topic.name, topicId: ZERO_ID }
    if (kind < 9) return { name: null, topicId: model.topicId(topic) }
    return random.pick([
      { name: topic.name, topicId: model.topicId(topic) },
      { name: null, topicId: ZERO_ID },
    ])
  })
  for (const topic of topics) topic.exists = false
  const body = { topics: byId, topicNames: topics.map(({ name }) => name), timeoutMs: TIMEOUT_MS }
  return [{ api: DeleteTopics, version, body }]
}

export function createPartitions(model: Model): Step[] {
  const { random } = model
  const topics = Array.from({ length: random.pick([1, 1, 1, 2]) }, () => model.topic())
  const validateOnly = random.chance(0.3)
  const specs = topics.map((topic) => {
    const count = random.chance(0.6) ? topic.partitions + 1 : random.pick([0, -1, 1, topic.partitions, 5, 20_000])
    const assignments = random.chance(0.7)
      ? null
      : random.pick([[], [{ brokerIds: [1] }], [{ brokerIds: [7] }], [{ brokerIds: [] }]])
    if (!validateOnly && count > topic.partitions && count < 10 && assignments === null) topic.partitions = count
    return { name: topic.name, count, assignments }
  })
  const body = { topics: specs, timeoutMs: TIMEOUT_MS, validateOnly }
  return [{ api: CreatePartitions, version: model.version(CreatePartitions), body }]
}

export function metadata(model: Model): Step[] {
  const { random } = model
  const version = model.version(Metadata)
  const named = Array.from({ length: random.between(0, 3) }, () => {
    const topic = model.topic()
    const byId = version >= 12 && random.chance(0.5)
    // The zero id makes Kafka refuse the whole request.
    const topicId = model.topicId(topic)
    if (byId && topicId !== ZERO_ID) return { name: null, topicId }
    return {
      name: random.chance(0.93) ? topic.name : random.pick(['', '.', `${model.prefix}a b`, 'x'.repeat(250)]),
      topicId: ZERO_ID,
    }
  })
  const body = {
    topics: random.chance(0.15) ? null : named,
    allowAutoTopicCreation: version < 4 || random.chance(0.3),
    includeClusterAuthorizedOperations: random.chance(0.5),
    includeTopicAuthorizedOperations: random.chance(0.5),
  }
  return [{ api: Metadata, version, body }]
}

export function describeTopicPartitions(model: Model): Step[] {
  const { random } = model
  const topics = Array.from({ length: random.between(0, 3) }, () => ({ name: model.topic().name }))
  const cursor = { topicName: model.topic().name, partitionIndex: random.pick([0, 1, 2, -1, 50]) }
  const body = {
    topics,
    responsePartitionLimit: random.pick([1, 2, 3, 2000, 2000, 0, -1]),
    cursor: random.chance(0.5) ? null : cursor,
  }
  return [{ api: DescribeTopicPartitions, version: 0, body }]
}

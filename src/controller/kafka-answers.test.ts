import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { DescribeConfigs, type DescribeConfigsRequest } from '../protocol/apis/describe-configs.ts'
import { CreateTopics } from '../protocol/apis/create-topics.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'
import { describeConfigs } from './describe-configs.ts'
import { type ControllerApi, controllerApis } from './shard.ts'

/** One request to a broker of Apache Kafka 4.4.0 and what it answered; topic ids and topic configs left out. */
interface Exchange {
  readonly api: string
  readonly request: never
  readonly answer: unknown
}

const exchanges = readFileSync(new URL('testdata/kafka-4.4.0-answers.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Exchange)

/** Kafka's words on the left; ours where we say more, or say it in our own words for an error code. */
const otherWords: readonly (readonly [kafka: string | null, ours: string])[] = [
  [
    'Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because only 1 broker(s) are registered or some brokers have all their log directories cordoned.',
    'Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because only 1 broker(s) are registered.',
  ],
  [
    'Excessively large number of partitions per request.',
    'Excessively large number of partitions per request: 10001, at most 10000 are allowed.',
  ],
  [
    'Excessively large number of additional partitions per request.',
    'Excessively large number of partitions per request: 19997, at most 10000 are allowed.',
  ],
  ['This server does not host this topic-partition.', 'This server does not host the topic or partition'],
  [null, 'This server does not host the topic or partition'],
  ['', 'This server does not host the topic or partition'],
  ['This server does not host this topic ID.', 'This server does not host a topic with this id'],
  ['Leader election not needed for topic partition.', 'The partition has the leader it should have'],
]

/** Where we answer something else, and why. */
const otherAnswers: readonly (readonly [request: RegExp, why: string])[] = [
  [/"configOperation":9/, 'Kafka fails with an unknown server error; the request is malformed'],
  [
    /"resourceType":16.*"match","configOperation":2/,
    'a list can be appended to; Kafka forgets that this one is a list',
  ],
  [/"resourceType":7,/, 'we say which resource type is not supported'],
  [
    /"resourceType":2,.*min\.insync\.replicas|"resourceType":4,"resourceName":"","configurationKeys":\[\]/,
    'Kafka sets min.insync.replicas for all brokers of a new cluster with ELR',
  ],
]

function ask(cluster: ShardCluster, { api: name, request }: Exchange): unknown {
  if (name === DescribeConfigs.name) {
    const broker = { brokerId: 1, staticValues: new Map([['node.id', '1']]) }
    return describeConfigs(cluster.image, broker, new Map(), request as DescribeConfigsRequest)
  }
  const api = controllerApis.find((each) => each.name === name) as ControllerApi
  return cluster.ask(api, request)
}

/** Without what differs from run to run, and without our own field; in an order of its own. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map((each) => comparable(each))
    return items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  }
  if (typeof value !== 'object' || value === null) return value
  const isCreated = 'numPartitions' in value
  const left = (key: string) => key === 'topicId' || key === 'note' || (isCreated && key === 'configs')
  const kept = Object.entries(value).filter(([key]) => !left(key))
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, each]) => [key, comparable(each)]))
}

function inOurWords(text: string): string[] {
  const variants = [text]
  for (const [kafka, ours] of otherWords) {
    const quoted = JSON.stringify(kafka)
    variants.push(
      ...variants.map((each) => each.replaceAll(`"errorMessage":${quoted}`, `"errorMessage":${JSON.stringify(ours)}`)),
    )
  }
  return variants
}

test('requests, good and bad, are answered as Kafka answers them', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 })
  const topic = { replicationFactor: 1, assignments: [], configs: [] }
  cluster.ask(CreateTopics, {
    topics: [
      { ...topic, name: 'orders', numPartitions: 3 },
      { ...topic, name: 'my.topic', numPartitions: 1 },
    ],
    timeoutMs: 1000,
    validateOnly: false,
  })
  for (const exchange of exchanges) {
    const request = JSON.stringify(exchange.request)
    const answer = JSON.stringify(comparable(ask(cluster, exchange)))
    if (otherAnswers.some(([pattern]) => pattern.test(request))) continue
    const expected = inOurWords(JSON.stringify(comparable(exchange.answer)))
    if (!expected.includes(answer)) assert.equal(answer, expected[0], `${exchange.api} ${request}`)
  }
})

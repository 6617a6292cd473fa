import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ControllerApi } from '../controller/shard.ts'
import { partitionForKey } from '../coordinator/partition-for.ts'
import type { FindCoordinator } from '../protocol/apis/find-coordinator.ts'
import type { Metadata } from '../protocol/apis/metadata.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { RequestInput, ResponseInput } from '../protocol/schema.ts'
import { ManualEnv } from '../testing/manual-env.ts'
import { ShardCluster, TEST_CLUSTER_ID } from '../testing/shard-cluster.ts'
import { AutoTopics } from './auto-topics.ts'
import type { Call } from './connections/call.ts'
import { type ControllerForwarder, ControllerUnavailableError } from './controller-channel.ts'
import { Endpoints } from './endpoints.ts'
import { findCoordinator } from './handlers/find-coordinator.ts'
import { metadata } from './handlers/metadata.ts'

/** Two brokers, and what the first of them answers. */
function clusterOf(settings: Record<string, string> = {}, { isAway = false } = {}) {
  const cluster = new ShardCluster(new Map(Object.entries(settings)))
  cluster.join({ id: 1 }, { id: 2 })
  const broker = { brokerId: 1, staticValues: new Map(Object.entries(settings)) }
  const source = {
    env: new ManualEnv().env,
    clusterId: TEST_CLUSTER_ID,
    nodeId: 1,
    image: () => cluster.image,
    activeController: () => 1,
    settled: () => null,
  }
  const forwarder: ControllerForwarder = {
    forward: async (api, request) => {
      if (isAway) throw new ControllerUnavailableError('away')
      return { response: cluster.ask(api as ControllerApi, request as never) as never, metadataOffset: -1 }
    },
  }
  const endpoints = new Endpoints({ nodeId: 1, advertised: new Set(), image: () => cluster.image })
  const topics = new AutoTopics({ source, broker, forwarder, caughtUp: async () => {} })
  const connection = { listenerName: 'PLAINTEXT', local: { host: '192.168.7.7', port: 19_092 } }
  const call = (version: number) => ({ version, clientId: 'test', connection }) as unknown as Call
  const handle = <T>(served: { handle: (request: never, call: Call) => unknown }, request: unknown, version: number) =>
    served.handle(request as never, call(version)) as T | Promise<T>
  return {
    cluster,
    metadata: (request: RequestInput<typeof Metadata>, version = 12) =>
      handle<ResponseInput<typeof Metadata>>(metadata(source, endpoints, topics), request, version),
    findCoordinator: (request: Partial<RequestInput<typeof FindCoordinator>>, version = 4) =>
      handle<ResponseInput<typeof FindCoordinator>>(findCoordinator(source, endpoints, topics), request, version),
  }
}

const named = (...names: string[]) => ({
  topics: names.map((name) => ({ name, topicId: 'AAAAAAAAAAAAAAAAAAAAAA' })),
  allowAutoTopicCreation: true,
  includeTopicAuthorizedOperations: false,
})

test('a topic is not made by being asked for, unless the broker and the client both want that', async () => {
  const off = clusterOf()
  const [missing] = (await off.metadata(named('orders'))).topics
  assert.equal(missing?.errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
  const on = clusterOf({ 'auto.create.topics.enable': 'true', 'num.partitions': '3' })
  const reluctant = await on.metadata({ ...named('orders'), allowAutoTopicCreation: false })
  assert.equal(reluctant.topics[0]?.errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
  const { topics } = await on.metadata(named('orders', 'bad name', 'orders'))
  assert.deepEqual(
    topics.map(({ name, errorCode, partitions }) => [name, errorCode, partitions.length]),
    [
      ['orders', ErrorCode.NONE, 3],
      ['bad name', ErrorCode.INVALID_TOPIC_EXCEPTION, 0],
    ],
  )
})

test('a client is told the address by which it came for this node, and the registered one for others', async () => {
  const { brokers } = await clusterOf().metadata({ topics: null, allowAutoTopicCreation: false })
  assert.deepEqual(
    brokers.map(({ nodeId, host, port }) => [nodeId, host, port]),
    [
      [1, '192.168.7.7', 19_092],
      [2, 'host-2', 9092],
    ],
  )
})

test('null asks for all topics and an empty list for none, but in version 0 an empty list for all', async () => {
  const { cluster, metadata: ask } = clusterOf()
  cluster.createTopic('orders')
  assert.equal((await ask({ topics: null, allowAutoTopicCreation: false })).topics.length, 1)
  assert.equal((await ask({ topics: [], allowAutoTopicCreation: false })).topics.length, 0)
  assert.equal((await ask({ topics: [] }, 0)).topics.length, 1)
})

test('a partition without a leader says so, and names the nodes that are away', async () => {
  const { cluster, metadata: ask } = clusterOf()
  cluster.createTopic('orders', {
    numPartitions: -1,
    replicationFactor: -1,
    assignments: [{ partitionIndex: 0, brokerIds: [2] }],
  })
  cluster.beat(2, { wantFence: true })
  const [partition] = (await ask(named('orders'))).topics[0]?.partitions ?? []
  assert.deepEqual(
    [partition?.errorCode, partition?.leaderId, partition?.offlineReplicas],
    [ErrorCode.LEADER_NOT_AVAILABLE, -1, [2]],
  )
})

test('the first question for a coordinator makes the topic of the offsets, on the nodes there are', async () => {
  const { cluster, findCoordinator: ask } = clusterOf({ 'offsets.topic.num.partitions': '5' })
  const [coordinator] = (await ask({ keyType: 0, coordinatorKeys: ['billing'] })).coordinators ?? []
  const topic = cluster.image.topic('__consumer_offsets')
  assert.equal(topic?.partitions.length, 5)
  assert.equal(topic?.partitions[0]?.replicas.length, 2)
  const leader = topic?.partitions[partitionForKey('billing', 5)]?.leader
  assert.deepEqual([coordinator?.errorCode, coordinator?.nodeId], [ErrorCode.NONE, leader])
})

test('no controller: the client is told to ask again; transactions and share groups are refused at once', async () => {
  const away = clusterOf({}, { isAway: true })
  const [none] = (await away.findCoordinator({ keyType: 0, coordinatorKeys: ['g'] })).coordinators ?? []
  assert.deepEqual([none?.errorCode, none?.nodeId], [ErrorCode.COORDINATOR_NOT_AVAILABLE, -1])
  const old = await clusterOf().findCoordinator({ keyType: 1, key: 't' }, 2)
  assert.equal(old.errorCode, ErrorCode.INVALID_REQUEST)
  assert.match(old.errorMessage ?? '', /Transactions/)
})

test('success has a message for clients that ask for one coordinator, as kafkajs expects it', async () => {
  const { findCoordinator: ask } = clusterOf({ 'offsets.topic.num.partitions': '1' })
  assert.deepEqual((await ask({ keyType: 0, coordinatorKeys: ['g'] })).coordinators?.[0]?.errorMessage, '')
  for (const version of [1, 2, 3]) assert.equal((await ask({ keyType: 0, key: 'g' }, version)).errorMessage, 'NONE')
})

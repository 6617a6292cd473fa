import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AllocateProducerIds } from '../protocol/apis/allocate-producer-ids.ts'
import { BrokerRegistration } from '../protocol/apis/broker-registration.ts'
import { CreateTopics } from '../protocol/apis/create-topics.ts'
import { UnregisterBroker } from '../protocol/apis/unregister-broker.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { supportedFeatures } from './features.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'

function leadership(cluster: ShardCluster, topic = 'orders') {
  return cluster.image.topic(topic)?.partitions.map(({ leader, isr, leaderEpoch }) => ({ leader, isr, leaderEpoch }))
}

function eligible(cluster: ShardCluster, topic = 'orders') {
  return cluster.image.topic(topic)?.partitions.map(({ elr }) => elr)
}

const onAll = (replicas: number[]) => ({
  numPartitions: -1,
  replicationFactor: -1,
  assignments: [{ partitionIndex: 0, brokerIds: replicas }],
})

test('a broker starts fenced and serves once it has read its own registration', () => {
  const cluster = new ShardCluster()
  const { brokerEpoch } = cluster.register({ id: 1 })
  assert.equal(cluster.image.broker(1)?.fenced, true)
  assert.deepEqual(
    [
      cluster.beat(1, { currentMetadataOffset: brokerEpoch - 1 }),
      cluster.beat(1, { currentMetadataOffset: brokerEpoch }),
    ].map(({ isCaughtUp, isFenced }) => [isCaughtUp, isFenced]),
    [
      [false, true],
      [true, false],
    ],
  )
  assert.equal(cluster.image.broker(1)?.fenced, false)
})

test('registering again with the same incarnation keeps the epoch; a new incarnation gets a new one and is fenced', () => {
  const cluster = new ShardCluster()
  const incarnation = cluster.id(9)
  const first = cluster.register({ id: 1 }, incarnation).brokerEpoch
  cluster.beat(1)
  assert.equal(cluster.register({ id: 1 }, incarnation).brokerEpoch, first)
  assert.equal(cluster.image.broker(1)?.fenced, false)
  const second = cluster.register({ id: 1 }).brokerEpoch
  assert.ok(second > first)
  assert.equal(cluster.image.broker(1)?.fenced, true)
  assert.equal(cluster.beat(1, { brokerEpoch: first }).errorCode, ErrorCode.STALE_BROKER_EPOCH)
  assert.equal(cluster.beat(7).errorCode, ErrorCode.STALE_BROKER_EPOCH)
})

test('a process restarted on its folder takes the place of the one before at once', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 })
  const before = cluster.image.broker(2)?.brokerEpoch ?? -1
  const { errorCode, brokerEpoch } = cluster.register({ id: 2 })
  assert.equal(errorCode, ErrorCode.NONE)
  assert.ok(brokerEpoch > before)
})

test('another folder, or a copy elsewhere, with the id of a living broker is refused, until that one falls silent or is lost', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 }, { id: 3 })
  const elsewhere = { directory: cluster.id(7) }
  const { DUPLICATE_BROKER_REGISTRATION, NONE } = ErrorCode
  assert.equal(cluster.register({ id: 2, ...elsewhere }).errorCode, DUPLICATE_BROKER_REGISTRATION)
  assert.equal(cluster.register({ id: 2, host: 'copy' }).errorCode, DUPLICATE_BROKER_REGISTRATION)
  assert.equal(cluster.register({ id: 2, port: 9192 }).errorCode, DUPLICATE_BROKER_REGISTRATION)
  cluster.nowMs += 3000
  assert.equal(cluster.register({ id: 2, ...elsewhere }).errorCode, NONE)
  cluster.lose(3)
  assert.equal(cluster.register({ id: 3, directory: cluster.id(8) }).errorCode, NONE)
})

test('a broker that stopped cleanly comes back behind another address at once; a copy of its folder from before does not', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 })
  const stopped = cluster.image.broker(2)?.brokerEpoch ?? -1
  const moved = { id: 2, port: 9192, previousBrokerEpoch: stopped }
  const { errorCode, brokerEpoch } = cluster.register(moved)
  assert.equal(errorCode, ErrorCode.NONE)
  assert.ok(brokerEpoch > stopped)
  cluster.beat(2, { brokerEpoch })
  const copy = { ...moved, port: 9292 }
  assert.equal(cluster.register(copy).errorCode, ErrorCode.DUPLICATE_BROKER_REGISTRATION)
})

test('a broker whose process is gone is fenced at once; news of an older incarnation changes nothing', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 }, { id: 3 })
  cluster.createTopic('orders', onAll([2, 3, 1]))
  const epoch = cluster.image.broker(2)?.brokerEpoch ?? -1
  cluster.lose(2, epoch - 1)
  assert.equal(cluster.image.broker(2)?.fenced, false)
  cluster.lose(2, epoch)
  assert.equal(cluster.image.broker(2)?.fenced, true)
  assert.deepEqual(leadership(cluster), [{ leader: 3, isr: [3, 1], leaderEpoch: 1 }])
  assert.deepEqual(cluster.notices.at(-1), {
    level: 'info',
    message: 'Node 2 is fenced: its process is gone',
    details: { node: 2, leadersMoved: 1, partitionsWithoutLeader: 0 },
  })
})

test('registrations that cannot be are refused', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 })
  const good = {
    brokerId: 2,
    clusterId: 'AQAAAAAAAAAAAAAAAAAAAA',
    incarnationId: cluster.id(3),
    listeners: [],
    features: supportedFeatures.map(({ name, min, max }) => {
      return { name, minSupportedVersion: min, maxSupportedVersion: max }
    }),
    rack: null,
    isMigratingZkBroker: false,
    logDirs: [cluster.id(4)],
    previousBrokerEpoch: -1,
    ownIncarnations: [],
  }
  const code = (change: Partial<typeof good>) => cluster.ask(BrokerRegistration, { ...good, ...change }).errorCode
  assert.equal(code({ clusterId: 'other' }), ErrorCode.INCONSISTENT_CLUSTER_ID)
  assert.equal(code({ logDirs: [] }), ErrorCode.INVALID_REGISTRATION)
  assert.equal(code({ logDirs: ['AAAAAAAAAAAAAAAAAAAAAQ'] }), ErrorCode.INVALID_REGISTRATION)
  assert.equal(code({ logDirs: [...(cluster.image.broker(1)?.logDirs ?? [])] }), ErrorCode.INVALID_REGISTRATION)
  assert.equal(code({ features: [] }), ErrorCode.UNSUPPORTED_VERSION)
  assert.equal(code({}), ErrorCode.NONE)
})

test('a silent broker is fenced: its partitions are led by others in sync, and wait for it where there are none', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 }, { id: 3 })
  cluster.createTopic('orders', onAll([2, 3, 1]))
  cluster.createTopic('alone', onAll([2]))
  cluster.pass(2000)
  cluster.beat(3)
  cluster.pass(1500)
  assert.equal(cluster.image.broker(2)?.fenced, true)
  assert.deepEqual(leadership(cluster), [{ leader: 3, isr: [3, 1], leaderEpoch: 1 }])
  assert.deepEqual(leadership(cluster, 'alone'), [{ leader: -1, isr: [], leaderEpoch: 1 }])
  assert.deepEqual(eligible(cluster, 'alone'), [[2]])
  cluster.beat(2)
  assert.deepEqual(leadership(cluster, 'alone'), [{ leader: 2, isr: [2], leaderEpoch: 2 }])
  // It is back, but must first catch up before it is in sync again.
  assert.deepEqual(leadership(cluster), [{ leader: 3, isr: [3, 1], leaderEpoch: 1 }])
})

test('a controller that stood still takes nobody for dead because of it', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 })
  cluster.nowMs += 60_000
  cluster.check()
  assert.equal(cluster.image.broker(2)?.fenced, false)
  cluster.pass(2900)
  assert.equal(cluster.image.broker(2)?.fenced, false)
  cluster.pass(200)
  assert.equal(cluster.image.broker(2)?.fenced, true)
  // The broker of this very process is as alive as the controller.
  assert.equal(cluster.image.broker(1)?.fenced, false)
})

test('a new incarnation leads nothing that it led before, until it serves', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 })
  cluster.createTopic('orders')
  cluster.register({ id: 1 })
  assert.deepEqual(leadership(cluster), [{ leader: -1, isr: [], leaderEpoch: 1 }])
  assert.deepEqual(eligible(cluster), [[1]])
  cluster.beat(1)
  assert.deepEqual(leadership(cluster), [{ leader: 1, isr: [1], leaderEpoch: 2 }])
})

test('a controlled stop moves leaderships first, and is granted when the others have read of it', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 })
  cluster.createTopic('orders', onAll([1, 2]))
  const wantShutDown = true
  assert.equal(cluster.beat(1, { wantShutDown }).shouldShutDown, false)
  assert.equal(cluster.image.broker(1)?.inControlledShutdown, true)
  assert.deepEqual(leadership(cluster), [{ leader: 2, isr: [2], leaderEpoch: 1 }])
  cluster.beat(2, { currentMetadataOffset: 0 })
  assert.equal(cluster.beat(1, { wantShutDown }).shouldShutDown, false)
  cluster.beat(2)
  assert.equal(cluster.beat(1, { wantShutDown }).shouldShutDown, true)
  assert.equal(cluster.image.broker(1)?.fenced, true)
})

test('a broker in a controlled stop gets no new partitions to lead', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 })
  cluster.createTopic('orders', onAll([1, 2]))
  cluster.beat(1, { wantShutDown: true })
  cluster.createTopic('later', onAll([1, 2]))
  assert.deepEqual(leadership(cluster, 'later'), [{ leader: 2, isr: [2], leaderEpoch: 0 }])
})

test('a broker that is taken out loses its leaderships with its registration', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 })
  cluster.createTopic('orders', onAll([2, 1]))
  assert.equal(cluster.ask(UnregisterBroker, { brokerId: 2 }).errorCode, ErrorCode.NONE)
  assert.equal(cluster.image.broker(2), undefined)
  assert.deepEqual(leadership(cluster), [{ leader: 1, isr: [1], leaderEpoch: 1 }])
})

test('producer ids come in blocks that never overlap', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 })
  const block = (brokerId: number, brokerEpoch = cluster.image.broker(brokerId)?.brokerEpoch ?? -1) =>
    cluster.ask(AllocateProducerIds, { brokerId, brokerEpoch })
  const starts = [block(1), block(2), block(1)].map(({ producerIdStart, producerIdLen }) => [
    producerIdStart,
    producerIdLen,
  ])
  assert.deepEqual(starts, [
    [0, 1000],
    [1000, 1000],
    [2000, 1000],
  ])
  assert.equal(block(1, 0).errorCode, ErrorCode.STALE_BROKER_EPOCH)
  assert.equal(block(9).errorCode, ErrorCode.STALE_BROKER_EPOCH)
})

test('a broker of ten thousand partitions is fenced in one set of records: it leads nothing and is in no ISR', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 }, { id: 3 })
  const topics = Array.from({ length: 1000 }, (_, i) => {
    return { name: `topic-${i}`, numPartitions: 10, replicationFactor: 3, assignments: [], configs: [] }
  })
  cluster.ask(CreateTopics, { topics, timeoutMs: 1000, validateOnly: false })
  const { records, notices } = cluster.shard.brokerLost(3, cluster.image.broker(3)?.brokerEpoch ?? -1)
  // The broker, and each partition once.
  assert.equal(records.length, 10_001)
  assert.equal(notices.length, 1)
  cluster.lose(3)
  assert.equal(cluster.image.topicIndex.leadsAny(3), false)
  for (const { partitions } of cluster.image.topicsById.values()) {
    assert.ok(partitions.every(({ leader, isr }) => leader > 0 && leader !== 3 && !isr.includes(3)))
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssignReplicasToDirs } from '../protocol/apis/assign-replicas-to-dirs.ts'
import { errorName } from '../protocol/errors.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'

const LOST = 'AAAAAAAAAAAAAAAAAAAAAg'
const dir = (n: number) => Buffer.alloc(16, 200 + n).toString('base64url')

/** Broker 1 has two directories, like an Apache Kafka broker; `orders` is on all three. */
function orders(): ShardCluster {
  const cluster = new ShardCluster()
  cluster.join({ id: 1, directories: [dir(1), dir(2)] }, { id: 2 }, { id: 3 })
  cluster.createTopic('orders', {
    numPartitions: -1,
    replicationFactor: -1,
    assignments: [0, 1].map((partitionIndex) => ({ partitionIndex, brokerIds: [1, 2, 3] })),
  })
  return cluster
}

function assign(
  cluster: ShardCluster,
  directory: string,
  partitions: readonly number[],
  more: { brokerId?: number; isDamaged?: boolean } = {},
) {
  const { brokerId = 1, isDamaged = false } = more
  const topicId = cluster.image.topic('orders')?.topicId ?? ''
  const topics = [{ topicId, partitions: partitions.map((partitionIndex) => ({ partitionIndex, isDamaged })) }]
  const response = cluster.ask(AssignReplicasToDirs, {
    brokerId,
    brokerEpoch: cluster.image.broker(brokerId)?.brokerEpoch ?? -1,
    directories: [{ id: directory, topics }],
  })
  const codes = response.directories[0]?.topics[0]?.partitions.map(({ errorCode }) => errorName(errorCode))
  return codes?.join() ?? errorName(response.errorCode)
}

function partition(cluster: ShardCluster, index = 0) {
  const found = cluster.image.partition('orders', index)
  assert.ok(found)
  return found
}

test('a broker with several directories says where its replicas lie; that starts no leader epoch', () => {
  const cluster = orders()
  assert.equal(partition(cluster).directories[0], 'AAAAAAAAAAAAAAAAAAAAAQ')
  assert.equal(assign(cluster, dir(2), [0, 1]), 'NONE,NONE')
  const { directories, leaderEpoch, leader } = partition(cluster)
  assert.deepEqual([directories[0], leaderEpoch, leader], [dir(2), 0, 1])
  const records = cluster.log.length
  assert.equal(assign(cluster, dir(2), [0]), 'NONE')
  assert.equal(cluster.log.length, records)
})

test('a replica that lies in no directory that works leaves the ISR and its leadership', () => {
  const cluster = orders()
  assert.equal(assign(cluster, LOST, [0]), 'NONE')
  assert.deepEqual([partition(cluster).leader, partition(cluster).isr], [2, [2, 3]])
  assert.equal(partition(cluster, 1).leader, 1)
})

test('a damaged replica is not eligible beside others that have everything, but as the last one it is kept', () => {
  const cluster = orders()
  cluster.setConfig('orders', 'min.insync.replicas', '3')
  assign(cluster, LOST, [0])
  assert.deepEqual([partition(cluster).isr, partition(cluster).elr], [[2, 3], [1]])
  assign(cluster, LOST, [0], { isDamaged: true })
  assert.deepEqual([partition(cluster).isr, partition(cluster).elr], [[2, 3], []])
  assign(cluster, LOST, [1], { isDamaged: true })
  assign(cluster, LOST, [1], { brokerId: 2, isDamaged: true })
  assign(cluster, LOST, [1], { brokerId: 3, isDamaged: true })
  assert.deepEqual([partition(cluster, 1).leader, partition(cluster, 1).isr, partition(cluster, 1).elr], [-1, [], [3]])
})

test('a damaged replica begins a leader epoch: it may be fetched anew, and what it held before must count no more', () => {
  const cluster = orders()
  assign(cluster, LOST, [0, 1], { brokerId: 3 })
  assert.equal(partition(cluster).leaderEpoch, 0)
  assign(cluster, LOST, [0], { brokerId: 3, isDamaged: true })
  assign(cluster, LOST, [1], { brokerId: 2, isDamaged: true })
  for (const { leader, leaderEpoch } of [partition(cluster), partition(cluster, 1)])
    assert.deepEqual([leader, leaderEpoch], [1, 1])
  assign(cluster, LOST, [0, 1], { isDamaged: true })
  assert.deepEqual([partition(cluster).leader, partition(cluster).leaderEpoch], [2, 2])
})

test('a failed directory takes the replicas in it, and those only', () => {
  const cluster = orders()
  assign(cluster, dir(1), [0])
  assign(cluster, dir(2), [1])
  assert.equal(cluster.beat(1, { offlineLogDirs: [dir(1)] }).isFenced, false)
  assert.deepEqual([partition(cluster).leader, partition(cluster).isr], [2, [2, 3]])
  assert.equal(partition(cluster, 1).leader, 1)
  assert.deepEqual(cluster.image.broker(1)?.logDirs, [dir(2)])
  const records = cluster.log.length
  cluster.beat(1, { offlineLogDirs: [dir(1)] })
  assert.equal(cluster.log.length, records)
})

test('a broker without any directory that works is fenced, and stays so', () => {
  const cluster = orders()
  cluster.beat(1, { offlineLogDirs: [dir(1), dir(2)] })
  assert.equal(cluster.image.broker(1)?.fenced, true)
  assert.equal(cluster.beat(1, { offlineLogDirs: [dir(1), dir(2)] }).isFenced, true)
  assert.equal(cluster.beat(1).isFenced, false)
})

test('cordoned directories take no new replicas (KIP-1066)', () => {
  const cluster = orders()
  cluster.beat(1, { cordonedLogDirs: [dir(1), dir(2)] })
  assert.deepEqual(cluster.image.broker(1)?.cordonedLogDirs, [dir(1), dir(2)])
  cluster.createTopic('later', { numPartitions: 6, replicationFactor: 2 })
  assert.ok(cluster.image.topic('later')?.partitions.every(({ replicas }) => !replicas.includes(1)))
  const refused = cluster.createTopic('too-many', { replicationFactor: 3 })
  assert.match(
    refused?.errorMessage ?? '',
    /only 3 broker\(s\) are registered, 1 of them with all log directories cordoned/,
  )
  cluster.beat(1, { cordonedLogDirs: [] })
  assert.equal(cluster.createTopic('fits', { replicationFactor: 3 })?.errorCode, 0)
})

test('what is not there, not its own, or of another incarnation is refused', () => {
  const cluster = orders()
  cluster.join({ id: 4 })
  assert.equal(assign(cluster, dir(1), [7]), 'UNKNOWN_TOPIC_OR_PARTITION')
  assert.equal(assign(cluster, dir(1), [0], { brokerId: 4 }), 'NOT_LEADER_OR_FOLLOWER')
  assert.equal(assign(cluster, dir(1), [0], { brokerId: 9 }), 'STALE_BROKER_EPOCH')
})

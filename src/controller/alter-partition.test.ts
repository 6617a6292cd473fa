import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlterPartition, type AlterPartitionRequest } from '../protocol/apis/alter-partition.ts'
import { ErrorCode, errorName } from '../protocol/errors.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'

type Wanted = AlterPartitionRequest['topics'][number]['partitions'][number]

/** Three brokers, and a topic of one partition that broker 1 leads with all in sync. */
function orders(): ShardCluster {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 }, { id: 3 })
  cluster.createTopic('orders', {
    numPartitions: -1,
    replicationFactor: -1,
    assignments: [{ partitionIndex: 0, brokerIds: [1, 2, 3] }],
  })
  return cluster
}

function partition(cluster: ShardCluster) {
  const found = cluster.image.partition('orders', 0)
  assert.ok(found)
  return found
}

/** As the leader would ask now, but for what the test changes. */
function alter(
  cluster: ShardCluster,
  isr: readonly (number | readonly [brokerId: number, brokerEpoch: number])[],
  change: Partial<Wanted> & { readonly from?: number; readonly version?: number; readonly topicId?: string } = {},
) {
  const { from = 1, version = 3, topicId = cluster.image.topic('orders')?.topicId ?? '', ...wanted } = change
  const { leaderEpoch, partitionEpoch } = partition(cluster)
  const members = isr.map((each) => {
    const [brokerId, brokerEpoch] = typeof each === 'number' ? [each, epochOf(cluster, each)] : each
    return { brokerId, brokerEpoch }
  })
  const response = cluster.ask(
    AlterPartition,
    {
      brokerId: from,
      brokerEpoch: epochOf(cluster, from),
      topics: [
        {
          topicId,
          partitions: [
            {
              partitionIndex: 0,
              leaderEpoch,
              partitionEpoch,
              leaderRecoveryState: 0,
              newIsr: version < 3 ? members.map(({ brokerId }) => brokerId) : [],
              newIsrWithEpochs: version < 3 ? [] : members,
              ...wanted,
            },
          ],
        },
      ],
    },
    version,
  )
  const result = response.topics[0]?.partitions[0]
  return { ...result, error: errorName(result?.errorCode ?? response.errorCode) }
}

function epochOf(cluster: ShardCluster, brokerId: number): number {
  return cluster.image.broker(brokerId)?.brokerEpoch ?? -1
}

test('a leader takes a member out of its ISR and back in; each change is one partition epoch and no leader epoch', () => {
  const cluster = orders()
  const shrunk = alter(cluster, [1, 2])
  assert.deepEqual(
    [shrunk.error, shrunk.isr, shrunk.leaderId, shrunk.leaderEpoch, shrunk.partitionEpoch],
    ['NONE', [1, 2], 1, 0, 1],
  )
  const grown = alter(cluster, [1, 2, 3])
  assert.deepEqual([grown.error, grown.isr, grown.partitionEpoch], ['NONE', [1, 2, 3], 2])
  assert.deepEqual(partition(cluster).isr, [1, 2, 3])
})

test('asking for what is there already changes nothing', () => {
  const cluster = orders()
  const records = cluster.log.length
  assert.deepEqual([alter(cluster, [1, 2, 3]).partitionEpoch, cluster.log.length], [0, records])
})

test('a change that is based on an old state is refused: compare and set (I7)', () => {
  const cluster = orders()
  const before = partition(cluster)
  alter(cluster, [1, 2])
  assert.equal(alter(cluster, [1], { partitionEpoch: before.partitionEpoch }).error, 'INVALID_UPDATE_VERSION')
  cluster.lose(1)
  const stale = { leaderEpoch: before.leaderEpoch }
  assert.equal(alter(cluster, [2], { ...stale, from: 2 }).error, 'FENCED_LEADER_EPOCH')
  assert.equal(alter(cluster, [3], { from: 3 }).error, 'INVALID_REQUEST')
})

test('a leader that knows more than this controller is sent to look for another', () => {
  const cluster = orders()
  assert.equal(alter(cluster, [1, 2], { leaderEpoch: 9 }).error, 'NOT_CONTROLLER')
  assert.equal(alter(cluster, [1, 2], { partitionEpoch: 9 }).error, 'NOT_CONTROLLER')
})

test('nobody joins who is fenced, stopping, unknown, or in another incarnation (KIP-841, KIP-903)', () => {
  const cluster = orders()
  cluster.join({ id: 4 })
  alter(cluster, [1])
  const old = epochOf(cluster, 2)
  cluster.register({ id: 2 })
  assert.equal(alter(cluster, [1, 2]).error, 'INELIGIBLE_REPLICA')
  cluster.beat(2)
  assert.equal(alter(cluster, [1, [2, old]]).error, 'INELIGIBLE_REPLICA')
  assert.equal(alter(cluster, [1, 2]).error, 'NONE')
  cluster.createTopic('other', {
    numPartitions: -1,
    replicationFactor: -1,
    assignments: [{ partitionIndex: 0, brokerIds: [3] }],
  })
  cluster.beat(3, { wantShutDown: true })
  assert.equal(alter(cluster, [1, 2, 3]).error, 'INELIGIBLE_REPLICA')
})

test('version 2 names no incarnations', () => {
  const cluster = orders()
  assert.equal(alter(cluster, [1, 2], { version: 2 }).error, 'NONE')
  assert.deepEqual(partition(cluster).isr, [1, 2])
})

test('an ISR that cannot be is refused: not a replica, twice, or without its leader', () => {
  const cluster = orders()
  cluster.join({ id: 4 })
  for (const isr of [[1, 4], [1, 2, 2], [2, 3], []]) assert.equal(alter(cluster, isr).error, 'INVALID_REQUEST')
})

test('a recovering leader is alone in its ISR, and only an election makes one recover', () => {
  const cluster = orders()
  assert.equal(alter(cluster, [1], { leaderRecoveryState: 1 }).error, 'INVALID_REQUEST')
  assert.equal(alter(cluster, [1], { leaderRecoveryState: 7 }).error, 'INVALID_REQUEST')
})

test('requests of a broker that is not in this incarnation, and for what is not there', () => {
  const cluster = orders()
  assert.equal(alter(cluster, [1], { from: 9 }).error, 'STALE_BROKER_EPOCH')
  assert.equal(alter(cluster, [1], { topicId: cluster.id(1) }).error, 'UNKNOWN_TOPIC_ID')
  assert.equal(alter(cluster, [1], { partitionIndex: 5 }).error, 'UNKNOWN_TOPIC_OR_PARTITION')
})

test('a partition that is named twice in a request is changed once', () => {
  const cluster = orders()
  const { leaderEpoch, partitionEpoch } = partition(cluster)
  const wanted = (isr: number[]) => ({
    partitionIndex: 0,
    leaderEpoch,
    partitionEpoch,
    leaderRecoveryState: 0,
    newIsr: [],
    newIsrWithEpochs: isr.map((brokerId) => ({ brokerId, brokerEpoch: -1 })),
  })
  const topicId = cluster.image.topic('orders')?.topicId ?? ''
  const topics = [{ topicId, partitions: [wanted([1, 2]), wanted([1, 3])] }]
  const { topics: results } = cluster.ask(AlterPartition, { brokerId: 1, brokerEpoch: epochOf(cluster, 1), topics })
  assert.deepEqual(
    results[0]?.partitions.map(({ errorCode }) => errorCode),
    [ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION],
  )
  assert.deepEqual(partition(cluster).isr, [1, 2])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlterPartitionReassignments } from '../protocol/apis/alter-partition-reassignments.ts'
import { ListPartitionReassignments } from '../protocol/apis/list-partition-reassignments.ts'
import { errorName } from '../protocol/errors.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'

function orders(replicas: readonly number[] = [1, 2, 3], configs: Readonly<Record<string, string>> = {}): ShardCluster {
  const cluster = new ShardCluster()
  cluster.join(...[1, 2, 3, 4, 5, 6].map((id) => ({ id })))
  cluster.createTopic('orders', {
    numPartitions: -1,
    replicationFactor: -1,
    assignments: [{ partitionIndex: 0, brokerIds: replicas }],
    configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
  })
  return cluster
}

function reassign(cluster: ShardCluster, replicas: readonly number[] | null, more = {}): string {
  const topics = [{ name: 'orders', partitions: [{ partitionIndex: 0, replicas, ...more }] }]
  const request = { timeoutMs: 1000, allowReplicationFactorChange: true, topics }
  const { responses } = cluster.ask(AlterPartitionReassignments, request)
  const { errorCode = -1, errorMessage = null } = responses[0]?.partitions[0] ?? {}
  return errorCode === 0 ? 'NONE' : `${errorName(errorCode)}: ${errorMessage}`
}

/** `1* 2 3 +4 -3 isr=1,2 elr=`: replicas, the leader marked, then those that come and go. */
function state(cluster: ShardCluster): string {
  const partition = cluster.image.partition('orders', 0)
  assert.ok(partition)
  const { replicas, leader, addingReplicas, removingReplicas, isr, elr } = partition
  return [
    ...replicas.map((id) => `${id}${id === leader ? '*' : ''}`),
    ...addingReplicas.map((id) => `+${id}`),
    ...removingReplicas.map((id) => `-${id}`),
    `isr=${isr.join()}`,
    ...(elr.length > 0 ? [`elr=${elr.join()}`] : []),
  ].join(' ')
}

function list(cluster: ShardCluster, topics: { name: string; partitionIndexes: number[] }[] | null = null) {
  return cluster.ask(ListPartitionReassignments, { timeoutMs: 1000, topics }).topics
}

const epochs = (cluster: ShardCluster) => cluster.image.partition('orders', 0)?.leaderEpoch

test('a move adds the new replicas, waits until all are in sync, and then takes the old ones away', () => {
  const cluster = orders()
  assert.equal(reassign(cluster, [1, 2, 4]), 'NONE')
  assert.equal(state(cluster), '1* 2 4 3 +4 -3 isr=1,2,3')
  assert.deepEqual(list(cluster), [
    {
      name: 'orders',
      partitions: [{ partitionIndex: 0, replicas: [1, 2, 4, 3], addingReplicas: [4], removingReplicas: [3] }],
    },
  ])
  const before = epochs(cluster) ?? 0
  cluster.alterIsr('orders', 0, [1, 2, 3, 4])
  assert.equal(state(cluster), '1* 2 4 isr=1,2,4')
  // The one that is gone must not be taken for a follower of this epoch.
  assert.equal(epochs(cluster), before + 1)
  assert.deepEqual(list(cluster), [])
})

test('the change of the ISR that completes a move away from its leader is answered with the end of its leadership', () => {
  const cluster = orders()
  reassign(cluster, [4, 5, 6])
  assert.equal(state(cluster), '4 5 6 1* 2 3 +4 +5 +6 -1 -2 -3 isr=1,2,3')
  cluster.alterIsr('orders', 0, [1, 2, 3, 4, 5])
  const answer = cluster.alterIsr('orders', 0, [1, 2, 3, 4, 5, 6])
  assert.equal(errorName(answer.topics[0]?.partitions[0]?.errorCode ?? -1), 'NEW_LEADER_ELECTED')
  assert.equal(state(cluster), '4* 5 6 isr=4,5,6')
})

test('what needs no catching up is done at once: fewer copies, another order', () => {
  const cluster = orders()
  assert.equal(reassign(cluster, [2, 1, 3]), 'NONE')
  assert.equal(state(cluster), '2 1* 3 isr=1,2,3')
  assert.equal(reassign(cluster, [2, 3]), 'NONE')
  assert.equal(state(cluster), '2* 3 isr=2,3')
  assert.equal(reassign(cluster, [2, 3]), 'NONE')
})

test('a move is given up: the old replicas stay, whoever had caught up goes', () => {
  const cluster = orders()
  reassign(cluster, [1, 4, 5])
  cluster.alterIsr('orders', 0, [1, 2, 3, 4])
  assert.equal(reassign(cluster, null), 'NONE')
  assert.equal(state(cluster), '1* 2 3 isr=1,2,3')
  assert.match(reassign(cluster, null), /^NO_REASSIGNMENT_IN_PROGRESS: /)
})

test('a move cannot be given up when only new replicas have everything, unless the topic allows to lose it', () => {
  const lost = (configs = {}) => {
    const cluster = orders([1], configs)
    reassign(cluster, [4, 5])
    cluster.alterIsr('orders', 0, [1, 4])
    cluster.lose(1)
    assert.equal(state(cluster), '4* 5 1 +4 +5 -1 isr=4')
    cluster.register({ id: 1 })
    cluster.beat(1)
    return cluster
  }
  assert.equal(
    reassign(lost(), null),
    'INVALID_REPLICA_ASSIGNMENT: Unable to revert partition assignment for orders:0 because it would require an unclean leader election.',
  )
  const cluster = lost({ 'unclean.leader.election.enable': 'true' })
  assert.equal(reassign(cluster, null), 'NONE')
  assert.equal(state(cluster), '1* isr=1')
  assert.equal(cluster.image.partition('orders', 0)?.leaderRecoveryState, 1)
  assert.match(cluster.notices.at(-1)?.message ?? '', /unclean election/)
})

test('a move is changed while it goes on; giving it up leads back to the replicas from before', () => {
  const cluster = orders()
  reassign(cluster, [1, 2, 4])
  reassign(cluster, [1, 4, 5])
  assert.equal(state(cluster), '1* 4 5 2 3 +5 +4 -2 -3 isr=1,2,3')
  reassign(cluster, [1, 2, 3])
  assert.equal(state(cluster), '1* 2 3 isr=1,2,3')
})

test('a move goes on when brokers die and come back, whichever', () => {
  const cluster = orders()
  reassign(cluster, [4, 5, 6])
  cluster.alterIsr('orders', 0, [1, 2, 3, 4])
  cluster.lose(1)
  assert.equal(state(cluster), '4* 5 6 1 2 3 +4 +5 +6 -1 -2 -3 isr=2,3,4')
  cluster.lose(4)
  assert.equal(state(cluster), '4 5 6 1 2* 3 +4 +5 +6 -1 -2 -3 isr=2,3')
  cluster.register({ id: 4 })
  cluster.beat(4)
  cluster.alterIsr('orders', 0, [2, 3, 4, 5])
  cluster.lose(2)
  cluster.lose(3)
  assert.equal(state(cluster), '4* 5 6 1 2 3 +4 +5 +6 -1 -2 -3 isr=4,5')
  cluster.alterIsr('orders', 0, [4, 5, 6])
  assert.equal(state(cluster), '4* 5 6 isr=4,5,6')
})

test('who leaves the replicas is not eligible either', () => {
  const cluster = orders([1, 2], { 'min.insync.replicas': '2' })
  cluster.lose(2)
  assert.equal(state(cluster), '1* 2 isr=1 elr=2')
  reassign(cluster, [1])
  assert.equal(state(cluster), '1* isr=1')
})

test('replicas that cannot be are refused, in words', () => {
  const cluster = orders()
  assert.match(reassign(cluster, []), /^INVALID_REPLICA_ASSIGNMENT: .*empty replica list/)
  assert.match(reassign(cluster, [1, 9]), /^INVALID_REPLICA_ASSIGNMENT: .*broker 9, but no such broker/)
  assert.match(reassign(cluster, [1, 1]), /^INVALID_REPLICA_ASSIGNMENT: .*broker 1 more than once/)
  assert.match(
    reassign(cluster, [1], { partitionIndex: 7 }),
    /^UNKNOWN_TOPIC_OR_PARTITION: Unable to find partition orders:7/,
  )
})

test('the number of copies is kept where the request says so, also of a move in progress', () => {
  const cluster = orders()
  const strict = (replicas: readonly number[]) => {
    const topics = [{ name: 'orders', partitions: [{ partitionIndex: 0, replicas }] }]
    const request = { timeoutMs: 1000, allowReplicationFactorChange: false, topics }
    const { errorCode, errorMessage } =
      cluster.ask(AlterPartitionReassignments, request).responses[0]?.partitions[0] ?? {}
    return errorMessage ?? errorCode
  }
  assert.equal(strict([1, 2]), 'The replication factor is changed from 3 to 2')
  assert.equal(strict([1, 2, 4]), 0)
  assert.equal(strict([1, 2, 4, 3]), 'The replication factor is changed from 3 to 4')
  assert.equal(strict([1, 2, 5]), 0)
})

test('only what moves is listed, everywhere or where it was asked for', () => {
  const cluster = orders()
  cluster.createTopic('other', { numPartitions: 2, replicationFactor: 3 })
  reassign(cluster, [4, 5, 6])
  assert.deepEqual(
    list(cluster).map(({ name }) => name),
    ['orders'],
  )
  assert.deepEqual(list(cluster, [{ name: 'other', partitionIndexes: [0, 1] }]), [])
  assert.deepEqual(list(cluster, [{ name: 'orders', partitionIndexes: [0, 8] }])[0]?.partitions.length, 1)
  assert.deepEqual(list(cluster, [{ name: 'gone', partitionIndexes: [0] }]), [])
})

test('a move of an internal topic to fewer copies than it is kept at is refused, as it would be undone', () => {
  const cluster = new ShardCluster()
  cluster.join(...[1, 2, 3, 4].map((id) => ({ id })))
  const name = '__consumer_offsets'
  const assignments = [{ partitionIndex: 0, brokerIds: [1, 2, 3] }]
  cluster.createTopic(name, { numPartitions: -1, replicationFactor: -1, assignments, configs: [] })
  const move = (replicas: readonly number[]) => {
    const topics = [{ name, partitions: [{ partitionIndex: 0, replicas }] }]
    const request = { timeoutMs: 1000, allowReplicationFactorChange: true, topics }
    return cluster.ask(AlterPartitionReassignments, request).responses[0]?.partitions[0]?.errorMessage
  }
  assert.equal(
    move([4]),
    '__consumer_offsets is kept at 3 copies by offsets.topic.replication.factor, and would get them again: lower that to have 1.',
  )
  assert.equal(move([1, 2, 4]), null)
})

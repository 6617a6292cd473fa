import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ElectLeaders } from '../protocol/apis/elect-leaders.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ShardCluster, type TestBroker } from '../testing/shard-cluster.ts'
import { METADATA_VERSION } from './features.ts'

/** `leader=1 isr=1,2 elr=3`, and what is not at rest. */
function state(cluster: ShardCluster, topic = 'orders'): string {
  const partition = cluster.image.partition(topic, 0)
  assert.ok(partition)
  const { leader, isr, elr, lastKnownElr, leaderRecoveryState } = partition
  const parts = [`leader=${leader} isr=${isr.join()} elr=${elr.join()}`]
  if (lastKnownElr.length > 0) parts.push(`last=${lastKnownElr.join()}`)
  if (leaderRecoveryState !== 0) parts.push('recovering')
  return parts.join(' ')
}

interface Given {
  readonly replicas?: readonly number[]
  readonly brokers?: readonly TestBroker[]
  readonly configs?: Readonly<Record<string, string>>
  readonly elr?: boolean
}

function orders({ replicas = [1, 2, 3], brokers, configs = {}, elr = true }: Given = {}): ShardCluster {
  const cluster = new ShardCluster(new Map(), elr)
  cluster.join(...(brokers ?? replicas.map((id) => ({ id }))))
  const created = cluster.createTopic('orders', {
    numPartitions: -1,
    replicationFactor: -1,
    assignments: [{ partitionIndex: 0, brokerIds: replicas }],
    configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
  })
  assert.equal(created?.errorCode, ErrorCode.NONE, created?.errorMessage ?? '')
  return cluster
}

function lose(cluster: ShardCluster, ...brokerIds: number[]): void {
  for (const brokerId of brokerIds) cluster.lose(brokerId)
}

/** Killed and started again on the same folder. */
function restart(cluster: ShardCluster, broker: TestBroker): void {
  cluster.lose(broker.id)
  assert.equal(cluster.register(broker).errorCode, ErrorCode.NONE)
  cluster.beat(broker.id)
}

function electUnclean(cluster: ShardCluster) {
  const topicPartitions = [{ topic: 'orders', partitions: [0] }]
  const response = cluster.ask(ElectLeaders, { electionType: 1, topicPartitions, timeoutMs: 1000 })
  return response.replicaElectionResults[0]?.partitionResult[0]
}

test('members that leave an ISR below min.insync stay eligible; at min.insync nobody needs to be', () => {
  const cluster = orders()
  lose(cluster, 3)
  assert.equal(state(cluster), 'leader=1 isr=1,2 elr=')
  lose(cluster, 2)
  assert.equal(state(cluster), 'leader=1 isr=1 elr=2')
  lose(cluster, 1)
  assert.equal(state(cluster), 'leader=-1 isr= elr=1,2 last=1')
})

test('where fewer in sync are enough from now on, nobody stays eligible beside a leader that commits without them', () => {
  const led = orders()
  lose(led, 3, 2)
  assert.equal(state(led), 'leader=1 isr=1 elr=2')
  led.setConfig('orders', 'min.insync.replicas', '1')
  assert.equal(state(led), 'leader=1 isr=1 elr=')
  const waiting = orders()
  lose(waiting, 3, 2, 1)
  waiting.setConfig('orders', 'min.insync.replicas', '1')
  assert.equal(state(waiting), 'leader=-1 isr= elr=1,2 last=1')
  restart(waiting, { id: 2 })
  assert.equal(state(waiting), 'leader=2 isr=2 elr=')
})

test('the first eligible replica to come back leads, and those that still may stay eligible', () => {
  const cluster = orders()
  lose(cluster, 3, 2, 1)
  restart(cluster, { id: 3 })
  assert.equal(state(cluster), 'leader=-1 isr= elr=1,2 last=1')
  restart(cluster, { id: 2 })
  assert.equal(state(cluster), 'leader=2 isr=2 elr=1')
  assert.ok(cluster.notices.every(({ message }) => !message.includes('unclean')))
})

test('a power cut of all loses nothing of an fsync topic, whoever returns first (scenarios 8 and 29)', () => {
  const cluster = orders()
  // The controller was cut off too: it knows nothing of the deaths when the first broker registers again.
  for (const id of [3, 2, 1]) cluster.register({ id })
  assert.equal(state(cluster), 'leader=-1 isr= elr=1,2 last=1')
  cluster.beat(2)
  assert.equal(state(cluster), 'leader=2 isr=2 elr=1')
})

test('a folder that is older than the broker was may lack anything: not in sync, not eligible (I9, scenario 37)', () => {
  const cluster = orders()
  lose(cluster, 3, 2, 1)
  restart(cluster, { id: 1, ownIncarnations: [cluster.id(77)] })
  assert.equal(state(cluster), 'leader=-1 isr= elr=2 last=1')
  restart(cluster, { id: 2 })
  assert.equal(state(cluster), 'leader=2 isr=2 elr=')
})

test('a folder from earlier in the same life counts no more where enough others were in sync without it (scenario 37)', () => {
  const cluster = orders()
  cluster.lose(1)
  lose(cluster, 2, 3)
  restart(cluster, { id: 1 })
  assert.equal(state(cluster), 'leader=-1 isr= elr=2,3 last=3')
})

test('an empty disk in the place of the old one is not the replica that was there', () => {
  const cluster = orders({ replicas: [1] })
  cluster.lose(1)
  restart(cluster, { id: 1, directory: cluster.id(9) })
  assert.equal(state(cluster), 'leader=-1 isr= elr=')
  // A human may begin anew with what is there now.
  assert.equal(electUnclean(cluster)?.errorCode, ErrorCode.NONE)
  assert.equal(state(cluster), 'leader=1 isr=1 elr= recovering')
})

test('a broker with an empty disk follows, catches up, and may lead again', () => {
  const cluster = orders()
  restart(cluster, { id: 2, directory: cluster.id(9) })
  assert.equal(state(cluster), 'leader=1 isr=1,3 elr=')
  cluster.alterIsr('orders', 0, [1, 3, 2])
  lose(cluster, 1, 3)
  assert.equal(state(cluster), 'leader=2 isr=2 elr=3')
})

test('without eligible replicas an empty disk is not taken for the copy that was last in sync there', () => {
  const cluster = orders({ elr: false })
  lose(cluster, 3, 2, 1)
  restart(cluster, { id: 1, directory: cluster.id(9) })
  assert.equal(state(cluster), 'leader=-1 isr=1 elr=')
})

test('a relaxed topic may lose what was in memory: after an unclean stop of all, its last leader leads, recorded', () => {
  const cluster = orders({ configs: { 'durability.mode': 'relaxed' } })
  lose(cluster, 3, 2, 1)
  restart(cluster, { id: 2 })
  assert.equal(state(cluster), 'leader=-1 isr= elr=1 last=1')
  restart(cluster, { id: 1 })
  assert.equal(state(cluster), 'leader=1 isr=1 elr= recovering')
  assert.match(cluster.notices.at(-1)?.message ?? '', /orders-0 is led again by node 1, .* not yet written to disk/)
})

test('after a clean stop a relaxed topic has lost nothing', () => {
  const cluster = orders({ configs: { 'durability.mode': 'relaxed' } })
  lose(cluster, 3, 2, 1)
  restart(cluster, { id: 2, previousBrokerEpoch: cluster.image.broker(2)?.brokerEpoch ?? -1 })
  assert.equal(state(cluster), 'leader=2 isr=2 elr=1')
})

test('the only copy leads again however it stopped; what that means is recorded', () => {
  const cluster = orders({ replicas: [1], configs: { 'durability.mode': 'relaxed' } })
  restart(cluster, { id: 1 })
  assert.equal(state(cluster), 'leader=1 isr=1 elr= recovering')
})

test('without a replica that has everything the partition waits, whoever else is there (I8, scenario 9)', () => {
  const cluster = orders({ configs: { 'min.insync.replicas': '1' } })
  lose(cluster, 2, 3, 1)
  assert.equal(state(cluster), 'leader=-1 isr= elr=1 last=1')
  restart(cluster, { id: 2 })
  restart(cluster, { id: 3 })
  cluster.pass(1000)
  assert.equal(state(cluster), 'leader=-1 isr= elr=1 last=1')
})

test('an unclean election on request says what it means, and is recorded', () => {
  const cluster = orders({ configs: { 'min.insync.replicas': '1' } })
  lose(cluster, 2, 3, 1)
  assert.equal(electUnclean(cluster)?.errorCode, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
  restart(cluster, { id: 2 })
  const result = electUnclean(cluster)
  assert.equal(result?.errorCode, ErrorCode.NONE)
  const meaning =
    'orders-0 is led by node 2, which was not in sync (unclean election): ' +
    'acknowledged records that it did not have are gone; node 1 held all of them'
  assert.equal(result?.errorMessage, meaning)
  assert.deepEqual(cluster.notices.at(-1)?.message, meaning)
  assert.equal(state(cluster), 'leader=2 isr=2 elr= recovering')
  assert.equal(electUnclean(cluster)?.errorCode, ErrorCode.ELECTION_NOT_NEEDED)
})

test('a topic that allows unclean elections has a leader as long as there is a replica', () => {
  const cluster = orders({ configs: { 'min.insync.replicas': '1', 'unclean.leader.election.enable': 'true' } })
  lose(cluster, 2, 3)
  restart(cluster, { id: 3 })
  lose(cluster, 1)
  assert.equal(state(cluster), 'leader=3 isr=3 elr= recovering')
})

test('a topic that begins to allow unclean elections gets its leader with the next tick', () => {
  const cluster = orders({ configs: { 'min.insync.replicas': '1' } })
  lose(cluster, 2, 3, 1)
  restart(cluster, { id: 3 })
  cluster.setConfig('orders', 'unclean.leader.election.enable', 'true')
  assert.equal(state(cluster), 'leader=-1 isr= elr=1 last=1')
  cluster.check()
  assert.equal(state(cluster), 'leader=3 isr=3 elr= recovering')
})

test('an Apache Kafka broker that was killed leaves ISR and ELR; with one among them min.insync must be set for ELR', () => {
  const brokers = [{ id: 1 }, { id: 2 }, { id: 3, isKafka: true }]
  const unset = orders({ brokers })
  lose(unset, 1, 2, 3)
  assert.equal(state(unset), 'leader=-1 isr=3 elr=')
  const set = orders({ brokers, configs: { 'min.insync.replicas': '2' } })
  lose(set, 1, 2, 3)
  assert.equal(state(set), 'leader=-1 isr= elr=2,3 last=3')
  restart(set, { id: 3, isKafka: true })
  assert.equal(state(set), 'leader=-1 isr= elr=2 last=3')
  // The topic has a copy on a broker that counts page caches, so node 2 may have led without its disk too.
  restart(set, { id: 2 })
  assert.equal(state(set), 'leader=-1 isr= elr= last=3')
})

test('without the feature the last one in sync stays in the ISR and nobody is eligible', () => {
  const cluster = orders({ elr: false })
  lose(cluster, 3, 2, 1)
  assert.equal(state(cluster), 'leader=-1 isr=1 elr=')
  restart(cluster, { id: 2 })
  assert.equal(state(cluster), 'leader=-1 isr=1 elr=')
  restart(cluster, { id: 1, ownIncarnations: [] })
  assert.equal(state(cluster), 'leader=1 isr=1 elr=')
})

test('a new cluster is at the metadata version that has eligible replicas', () => {
  assert.ok(METADATA_VERSION >= 23)
  assert.equal(new ShardCluster().image.features.get('eligible.leader.replicas.version'), 1)
})

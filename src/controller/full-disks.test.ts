import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShardCluster } from '../testing/shard-cluster.ts'
import { OFFSETS_TOPIC } from './topic-names.ts'

const ROOM = 0
const FULL = 1
const QUITE_FULL = 2

/** Brokers 1 to `count`, and topics of one partition on 1, 2, 3, led by 1. */
function cluster(count = 3): ShardCluster {
  const made = new ShardCluster()
  for (let id = 1; id <= count; id++) made.join({ id })
  for (const name of ['orders', OFFSETS_TOPIC]) {
    made.createTopic(name, {
      numPartitions: -1,
      replicationFactor: -1,
      assignments: [{ partitionIndex: 0, brokerIds: [1, 2, 3] }],
      configs: [{ name: 'min.insync.replicas', value: '2' }],
    })
  }
  return made
}

function partition(on: ShardCluster, name = 'orders') {
  const { leader, isr, elr } = on.image.partition(name, 0) ?? {}
  return { leader, isr, elr }
}

test('a leader whose disk is full hands over to a replica with room, and comes back when it has room', () => {
  const on = cluster()
  on.beat(1, { outOfSpace: FULL })
  assert.deepEqual(partition(on), { leader: 2, isr: [2, 3], elr: [] })
  assert.equal(on.notices.at(-1)?.message, 'The disk of node 1 takes no records of clients')
  // As long as it is full nobody can bring it back.
  on.alterIsr('orders', 0, [2, 3, 1])
  assert.deepEqual(partition(on), { leader: 2, isr: [2, 3], elr: [] })
  on.beat(1, { outOfSpace: ROOM })
  on.alterIsr('orders', 0, [2, 3, 1])
  assert.deepEqual(partition(on), { leader: 2, isr: [2, 3, 1], elr: [] })
  assert.equal(on.notices.at(-1)?.message, 'The disk of node 1 has room')
})

test('a follower whose disk is full holds up nobody', () => {
  const on = cluster()
  on.beat(3, { outOfSpace: FULL })
  assert.deepEqual(partition(on), { leader: 1, isr: [1, 2], elr: [] })
})

test('what is said again changes nothing, and a broker that says nothing of its disk has room', () => {
  const on = cluster()
  on.beat(1, { outOfSpace: FULL })
  const decided = on.log.length
  on.beat(1, { outOfSpace: FULL })
  on.beat(1)
  on.beat(2)
  assert.equal(on.log.length, decided)
})

test('when the last disk with room gets full, its replica leads on, and can be read', () => {
  const on = cluster()
  on.beat(1, { outOfSpace: FULL })
  on.beat(2, { outOfSpace: FULL })
  assert.deepEqual(partition(on), { leader: 3, isr: [3], elr: [2] })
  on.beat(3, { outOfSpace: FULL })
  assert.deepEqual(partition(on), { leader: 3, isr: [3], elr: [2] })
})

test('full replicas are in sync together, until one of them has room: it leads', () => {
  const on = cluster()
  for (const id of [1, 2, 3]) on.beat(id, { outOfSpace: FULL })
  on.alterIsr('orders', 0, [3, 2, 1])
  assert.deepEqual(partition(on), { leader: 3, isr: [3, 2, 1], elr: [] })
  on.beat(2, { outOfSpace: ROOM })
  assert.deepEqual(partition(on), { leader: 2, isr: [2], elr: [1, 3] })
})

test('a full leader gives way as soon as a replica with room has caught up', () => {
  const on = cluster()
  on.alterIsr('orders', 0, [1])
  on.beat(1, { outOfSpace: FULL })
  assert.deepEqual(partition(on), { leader: 1, isr: [1], elr: [2, 3] })
  on.alterIsr('orders', 0, [1, 3])
  assert.deepEqual(partition(on), { leader: 3, isr: [3], elr: [1, 2] })
})

test('a replica with room is elected before a full one that is eligible, too', () => {
  const on = cluster()
  on.beat(1, { outOfSpace: FULL })
  on.beat(2, { outOfSpace: FULL })
  on.lose(3)
  assert.deepEqual(partition(on).leader, 2)
  on.beat(2, { outOfSpace: ROOM })
  assert.deepEqual(partition(on), { leader: 2, isr: [2], elr: [3] })
})

test('coordinators may write for longer: internal topics move only when that ends', () => {
  const on = cluster()
  on.beat(1, { outOfSpace: FULL })
  assert.deepEqual(partition(on, OFFSETS_TOPIC).isr, [1, 2, 3])
  on.beat(1, { outOfSpace: QUITE_FULL })
  assert.deepEqual(partition(on, OFFSETS_TOPIC), { leader: 2, isr: [2, 3], elr: [] })
})

test('the only copy stays where it is', () => {
  const on = cluster()
  on.createTopic('single', {
    assignments: [{ partitionIndex: 0, brokerIds: [1] }],
    numPartitions: -1,
    replicationFactor: -1,
  })
  on.beat(1, { outOfSpace: FULL })
  assert.deepEqual(partition(on, 'single'), { leader: 1, isr: [1], elr: [] })
})

test('new topics avoid full disks, and say so where they cannot', () => {
  const on = cluster(4)
  on.beat(1, { outOfSpace: FULL })
  const spared = on.createTopic('spared', { numPartitions: 12, replicationFactor: 3 })
  assert.equal(spared?.note, null)
  for (const { replicas } of on.image.topic('spared')?.partitions ?? []) assert.ok(!replicas.includes(1))
  const all = on.createTopic('all', { numPartitions: 12, replicationFactor: 4 })
  assert.equal(all?.note, 'Copies on node 1 wait for room on its disk')
  for (const { leader, isr } of on.image.topic('all')?.partitions ?? []) assert.ok(leader !== 1 && !isr.includes(1))
})

test('a restarted broker has told nothing of its disk yet', () => {
  const on = cluster()
  on.beat(1, { outOfSpace: FULL })
  on.register({ id: 1 })
  on.beat(1)
  assert.equal(on.image.broker(1)?.outOfSpace, 0)
  on.beat(1, { outOfSpace: FULL })
  assert.equal(on.image.broker(1)?.outOfSpace, FULL)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PartitionState } from '../../client/cluster-admin.ts'
import type { ClusterFacts } from './facts.ts'
import { duration, problemsOf } from './problems.ts'

const NOW = 1_700_000_000_000

function broker(nodeId: number, isFenced = false, isFull = false) {
  return { nodeId, host: `h${nodeId}`, port: 9092, rack: null, isFenced, isFull }
}

function voter(nodeId: number, caughtUpAgoMs = 100) {
  const atMs = NOW - caughtUpAgoMs
  return { nodeId, directoryId: 'd', endOffset: 10, lastFetchMs: atMs, lastCaughtUpMs: atMs, address: null }
}

function partition(number: number, change: Partial<PartitionState> = {}): PartitionState {
  const whole = {
    leader: 1,
    leaderEpoch: 1,
    replicas: [1, 2, 3],
    isr: [1, 2, 3],
    eligible: [],
    lastEligible: [],
    offline: [],
    laggards: [],
  }
  return { topic: 'orders', partition: number, ...whole, ...change }
}

function facts(change: Partial<ClusterFacts> = {}): ClusterFacts {
  return {
    cluster: { clusterId: 'c', controllerId: 1, brokers: [broker(1), broker(2), broker(3)] },
    quorum: { leaderId: 1, leaderEpoch: 3, highWatermark: 10, voters: [1, 2, 3].map((id) => voter(id)), observers: [] },
    partitions: [partition(0)],
    reassignments: [],
    folders: [],
    unreached: [],
    minInSync: new Map([['orders', 2]]),
    nowMs: NOW,
    ...change,
  }
}

const texts = (change: Partial<ClusterFacts>) => problemsOf(facts(change)).map(({ text }) => text)

test('a cluster in which all is well has no problems', () => {
  assert.deepEqual(texts({}), [])
})

test('a full disk is told of once, and what can only be read for it', () => {
  const brokers = [broker(1), broker(2, false, true), broker(3)]
  const cluster = { clusterId: 'c', controllerId: 1, brokers }
  assert.deepEqual(texts({ cluster, partitions: [partition(0, { isr: [1, 3] })] }), [
    'the disk of node 2 is full: its copies get no records until there is room',
  ])
  const single = partition(0, { topic: 'single', leader: 2, replicas: [2], isr: [2] })
  assert.deepEqual(texts({ cluster, partitions: [single] }), [
    'the disk of node 2 is full: its copies get no records until there is room; 1 partition that no other copy could take over can only be read',
  ])
})

test('a node that the controller takes for alive and that does not answer is told of', () => {
  assert.deepEqual(texts({ unreached: [2] }), [
    'node 2 does not answer from here: it has just died, or clients on this machine cannot reach its address',
  ])
})

test('a copy whose log has failed is told of as such', () => {
  assert.deepEqual(texts({ partitions: [partition(3, { isr: [1, 3], offline: [2] })] }), [
    'orders-3: the copy on node 2 is out of use, its log is damaged or its disk has failed',
  ])
})

test('who left the ISR, since when, and by how much it is behind', () => {
  const laggard = { nodeId: 2, sinceMs: NOW - 41_000, behindMs: 4200, behindRecords: 1234, isSilent: false }
  assert.deepEqual(texts({ partitions: [partition(3, { isr: [1, 3], laggards: [laggard] })] }), [
    'orders-3: node 2 left the ISR 41 s ago, 4.2 s behind (1,234 records)',
  ])
  const silent = { ...laggard, behindMs: -1, isSilent: true }
  assert.deepEqual(texts({ partitions: [partition(3, { isr: [1, 3], laggards: [silent] })] }), [
    'orders-3: node 2 left the ISR 41 s ago, and has not asked for records since',
  ])
  // The leader is an Apache Kafka: it does not say.
  assert.deepEqual(texts({ partitions: [partition(3, { isr: [1, 3] })] }), ['orders-3: node 2 is not in sync'])
})

test('a node that is gone is told once, not with each of its partitions; what that means for clients is told first', () => {
  const cluster = { clusterId: 'c', controllerId: 1, brokers: [broker(1), broker(2, true), broker(3, true)] }
  const partitions = [
    partition(0, { isr: [1] }),
    partition(1, { isr: [], leader: -1, eligible: [2] }),
    partition(2, { replicas: [1], isr: [1] }),
  ]
  assert.deepEqual(texts({ cluster, partitions }), [
    'orders-1 has no leader: waits for node 2',
    'orders-0 refuses acks=all: 1 of 3 copies in sync, min.insync.replicas is 2',
    'orders-2 refuses acks=all: 1 of 1 copy in sync, min.insync.replicas is 2',
    'node 2 does not serve, last heard 0.1 s ago: 2 partitions without its copy',
    'node 3 does not serve, last heard 0.1 s ago: 2 partitions without its copy',
  ])
})

test('what threatens the controllers', () => {
  assert.match(texts({ quorum: null }).join(), /the controllers have no leader/)
  const quorum = { leaderId: 1, leaderEpoch: 3, highWatermark: 10, voters: [voter(1), voter(2, 30_000)], observers: [] }
  assert.deepEqual(texts({ quorum }), [
    'controller 2 has not kept up for 30 s',
    'only 2 controllers: the death of one stops every change of the cluster',
  ])
})

test('a copy that is being made is no problem', () => {
  const reassignments = [{ topic: 'orders', partition: 0, replicas: [1, 2, 3], adding: [3], removing: [] }]
  assert.deepEqual(texts({ partitions: [partition(0, { isr: [1, 2] })], reassignments }), [])
})

test('durations as people say them', () => {
  const spans = [400, 4200, 41_000, 200_000, 10_000_000, 400_000_000]
  assert.deepEqual(spans.map(duration), ['0.4 s', '4.2 s', '41 s', '3 min', '3 h', '5 d'])
})

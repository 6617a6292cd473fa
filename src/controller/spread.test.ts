import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minInsync } from '../model/min-insync.ts'
import { CreatePartitions } from '../protocol/apis/create-partitions.ts'
import { CreateTopics } from '../protocol/apis/create-topics.ts'
import { encodeResponse } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ShardCluster, type TestBroker } from '../testing/shard-cluster.ts'

function noteOf(brokers: readonly TestBroker[], replicationFactor: number): string | null | undefined {
  const cluster = new ShardCluster()
  cluster.join(...brokers)
  const created = cluster.createTopic('orders', { replicationFactor })
  assert.equal(created?.errorCode, ErrorCode.NONE)
  assert.equal(created.errorMessage, null)
  return created.note
}

test('a topic whose copies must share a host or a zone is created, and its answer says so where no client takes it for an error', () => {
  const threeOnOne = [1, 2, 3].map((id) => ({ id, host: 'one' }))
  assert.equal(noteOf(threeOnOne, 3), 'Of the 3 copies of a partition, some share a host (there is 1 host)')
  assert.equal(noteOf(threeOnOne, 1), null)
  const twoZones = [1, 2, 3].map((id) => ({ id, zone: `z${id % 2}` }))
  assert.equal(noteOf(twoZones, 3), 'Of the 3 copies of a partition, some share a zone (there are 2 zones)')
  assert.equal(noteOf(twoZones, 2), null)
  const both = [1, 2, 3].map((id) => ({ id, zone: 'z', host: `h${id % 2}` }))
  assert.match(noteOf(both, 3) ?? '', /share a host \(there are 2 hosts\) and a zone \(there is 1 zone\)$/)
  assert.equal(
    noteOf(
      [1, 2, 3].map((id) => ({ id })),
      3,
    ),
    null,
  )
})

test('partitions that are added say the same', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1, host: 'one' }, { id: 2, host: 'one' })
  cluster.createTopic('orders', { replicationFactor: 2 })
  const topics = [{ name: 'orders', count: 3, assignments: null }]
  const { results } = cluster.ask(CreatePartitions, { topics, timeoutMs: 1000, validateOnly: false })
  assert.deepEqual([results[0]?.errorCode, results[0]?.errorMessage], [ErrorCode.NONE, null])
  assert.match(results[0]?.note ?? '', /share a host/)
})

test('such an answer reaches clients of versions that have no place for it', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1, host: 'one' }, { id: 2, host: 'one' })
  const topic = { name: 'orders', numPartitions: 1, replicationFactor: 2, assignments: [], configs: [] }
  const created = cluster.ask(CreateTopics, { topics: [topic], timeoutMs: 1000, validateOnly: false })
  assert.notEqual(created.topics[0]?.note, null)
  const [first, last] = CreateTopics.versions
  for (let version = first; version <= last; version++) encodeResponse(CreateTopics, version, 1, created)
  const topics = [{ name: 'orders', count: 3, assignments: null }]
  const grown = cluster.ask(CreatePartitions, { topics, timeoutMs: 1000, validateOnly: false })
  assert.notEqual(grown.results[0]?.note, null)
  for (let version = 0; version <= CreatePartitions.versions[1]; version++) {
    encodeResponse(CreatePartitions, version, 1, grown)
  }
})

test('the offsets topic of a cluster that began with one node gets its copies when others join', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 })
  cluster.createTopic('__consumer_offsets', { numPartitions: 6, replicationFactor: 1 })
  cluster.createTopic('orders', { numPartitions: 1, replicationFactor: 1 })
  cluster.check()
  const copies = () => cluster.image.topic('__consumer_offsets')?.partitions.map(({ replicas }) => replicas.length)
  assert.deepEqual(new Set(copies()), new Set([1]))
  cluster.join({ id: 2 }, { id: 3 })
  cluster.check()
  const growing = cluster.image.topic('__consumer_offsets')?.partitions ?? []
  for (const { leader, isr, addingReplicas } of growing) {
    assert.deepEqual([leader, isr, [...addingReplicas].sort((a, b) => a - b)], [1, [1], [2, 3]])
  }
  for (const index of growing.keys()) cluster.alterIsr('__consumer_offsets', index)
  const grown = cluster.image.topic('__consumer_offsets')?.partitions ?? []
  assert.ok(grown.every(({ isr, addingReplicas }) => isr.length === 3 && addingReplicas.length === 0))
  assert.deepEqual(new Set(grown.map(({ replicas }) => replicas[0])), new Set([1, 2, 3]))
  assert.equal(cluster.image.partition('orders', 0)?.replicas.length, 1)
  const quiet = cluster.log.length
  cluster.check()
  assert.equal(cluster.log.length, quiet)
})

test('as many copies as its config names, and no more than there are brokers', () => {
  const cluster = new ShardCluster(new Map([['offsets.topic.replication.factor', '2']]))
  cluster.join({ id: 1 })
  cluster.createTopic('__consumer_offsets', { numPartitions: 1, replicationFactor: 1 })
  cluster.join({ id: 2 }, { id: 3 })
  cluster.check()
  assert.equal(cluster.image.partition('__consumer_offsets', 0)?.replicas.length, 2)
})

test('writers of a partition do not wait for copies that are being added', () => {
  assert.deepEqual(
    [1, 2, 3, 5].map((copies) => minInsync(null, copies)),
    [1, 1, 2, 2],
  )
  assert.deepEqual([minInsync(2, 1), minInsync(2, 3), minInsync(9, 3)], [1, 2, 3])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MetadataDelta } from '../metadata/delta.ts'
import { MetadataImage, type PartitionImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import { hashOf, recordsOf } from '../metadata/snapshot.ts'
import { AlterPartition } from '../protocol/apis/alter-partition.ts'
import { AlterPartitionReassignments } from '../protocol/apis/alter-partition-reassignments.ts'
import { AssignReplicasToDirs } from '../protocol/apis/assign-replicas-to-dirs.ts'
import { CreatePartitions } from '../protocol/apis/create-partitions.ts'
import { DeleteTopics } from '../protocol/apis/delete-topics.ts'
import { ElectLeaders } from '../protocol/apis/elect-leaders.ts'
import { IncrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import { decodeMetadataRecord } from '../protocol/messages/metadata-records.ts'
import { encodeRecord } from '../metadata/records.ts'
import { isUndecided } from './topic-rules.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'

type Step = readonly [kind: number, a: number, b: number]

const names = ['orders', 'my.topic', 'my_topic', 'events', 'bad name', '__consumer_offsets']

function perform(cluster: ShardCluster, [kind, a, b]: Step): void {
  const name = names[a % names.length] as string
  const brokerId = 1 + (b % 3)
  switch (kind) {
    case 0:
      cluster.createTopic(name, { numPartitions: (b % 5) - 1, replicationFactor: (a % 5) - 1 })
      return
    case 1:
      cluster.ask(DeleteTopics, { topics: [{ name, topicId: 'AAAAAAAAAAAAAAAAAAAAAA' }], topicNames: [], timeoutMs: 1 })
      return
    case 2:
      cluster.ask(CreatePartitions, {
        topics: [{ name, count: b % 8, assignments: null }],
        timeoutMs: 1,
        validateOnly: false,
      })
      return
    case 3: {
      const configs = [
        {
          name: b % 2 === 0 ? 'retention.ms' : 'cleanup.policy',
          configOperation: a % 4,
          value: ['5', 'compact', 'x', null][b % 4] ?? null,
        },
      ]
      const resourceType = [ResourceType.topic, ResourceType.broker][a % 2] as number
      const resourceName = resourceType === ResourceType.topic ? name : String(brokerId)
      cluster.ask(IncrementalAlterConfigs, {
        resources: [{ resourceType, resourceName, configs }],
        validateOnly: b % 7 === 0,
      })
      return
    }
    case 4:
      cluster.register({ id: brokerId, zone: `zone-${brokerId}` })
      return
    case 5:
      cluster.beat(brokerId, { wantFence: a % 5 === 0, wantShutDown: a % 7 === 0 })
      return
    case 6:
      cluster.pass(a * 200)
      return
    case 7:
    case 8:
      alterIsr(cluster, name, a, b)
      return
    case 9: {
      const replicas = a % 5 === 0 ? null : [1, 2, 3].filter((id) => (b >> id) % 2 === 0)
      const topics = [{ name, partitions: [{ partitionIndex: a % 3, replicas }] }]
      const request = { timeoutMs: 1, allowReplicationFactorChange: a % 2 === 0, topics }
      cluster.ask(AlterPartitionReassignments, request)
      return
    }
    case 10:
      if (a % 3 === 0) cluster.lose(brokerId)
      else assign(cluster, name, brokerId, a)
      return
    default:
      cluster.ask(ElectLeaders, { electionType: a % 2, topicPartitions: null, timeoutMs: 1 })
  }
}

/** As a leader asks that knows the present epochs, or not quite; not always for what may be. */
function alterIsr(cluster: ShardCluster, name: string, a: number, b: number): void {
  const topic = cluster.image.topic(name)
  const partition = topic?.partitions[a % 3]
  if (topic === undefined || partition === undefined || partition.leader < 0) return
  const newIsrWithEpochs = partition.replicas
    .filter((id) => id === partition.leader || (b >> id) % 2 === 0)
    .map((brokerId) => ({ brokerId, brokerEpoch: cluster.image.broker(brokerId)?.brokerEpoch ?? -1 }))
  const wanted = {
    partitionIndex: a % 3,
    leaderEpoch: partition.leaderEpoch,
    partitionEpoch: partition.partitionEpoch - (a % 7 === 0 ? 1 : 0),
    leaderRecoveryState: a % 5 === 0 ? 1 : 0,
    newIsr: [],
    newIsrWithEpochs,
  }
  cluster.ask(AlterPartition, {
    brokerId: partition.leader,
    brokerEpoch: cluster.image.broker(partition.leader)?.brokerEpoch ?? -1,
    topics: [{ topicId: topic.topicId, partitions: [wanted] }],
  })
}

function assign(cluster: ShardCluster, name: string, brokerId: number, a: number): void {
  const broker = cluster.image.broker(brokerId)
  const id = a % 2 === 0 ? (broker?.logDirs[0] ?? cluster.id(3)) : cluster.id(3)
  const topics = [
    { topicId: cluster.image.topic(name)?.topicId ?? '', partitions: [{ partitionIndex: a % 3, isDamaged: false }] },
  ]
  if (topics[0]?.topicId === '') return
  const request = { brokerId, brokerEpoch: broker?.brokerEpoch ?? -1, directories: [{ id, topics }] }
  cluster.ask(AssignReplicasToDirs, request)
}

/** What must be true of every image, whatever was asked (reliability I5, I7, I8). */
function assertSound(cluster: ShardCluster, before: MetadataImage): void {
  const { image } = cluster
  for (const { name, topicId, partitions } of image.topicsByName.values()) {
    assert.match(name, /^[a-zA-Z0-9._-]+$/)
    assert.ok(partitions.length > 0)
    for (const [index, partition] of partitions.entries()) {
      const { replicas, isr, elr, leader, leaderEpoch, partitionEpoch } = partition
      const known = [...isr, ...elr]
      assert.ok(
        known.every((id) => replicas.includes(id)),
        `isr ${isr} and elr ${elr} of ${replicas}`,
      )
      assert.equal(new Set(known).size, known.length)
      assert.equal(new Set(replicas).size, replicas.length)
      if (leader !== -1) {
        assert.ok(isr.includes(leader), `leader ${leader} outside of the isr ${isr}`)
        assert.equal(image.broker(leader)?.fenced, false, `fenced leader ${leader}`)
      }
      assert.equal(partition.directories.length, replicas.length)
      assert.ok(leader >= 0 || isr.length === 0 || !isr.some((id) => mayLead(cluster.image, partition, id)))
      const was = before.topicById(topicId)?.partitions[index]
      if (was === undefined || was === partition) continue
      assert.ok(partitionEpoch > was.partitionEpoch && leaderEpoch >= was.leaderEpoch)
      if (leader !== was.leader) assert.ok(leaderEpoch > was.leaderEpoch, 'another leader in the same epoch')
    }
  }
  const unified = [...image.topicsByName.keys()].map((name) => name.replaceAll('.', '_'))
  assert.equal(new Set(unified).size, unified.length, 'names that differ in . and _ only')
  for (const { type, name } of image.configs.values()) {
    if (type === ResourceType.topic) assert.ok(image.topic(name) !== undefined, `configs of ${name}, which is gone`)
  }
}

function mayLead(image: MetadataImage, { replicas, directories }: PartitionImage, brokerId: number): boolean {
  const broker = image.broker(brokerId)
  if (broker === undefined || broker.fenced || broker.inControlledShutdown) return false
  const directory = directories[replicas.indexOf(brokerId)] ?? ''
  return isUndecided(directory) || broker.logDirs.includes(directory)
}

test('whatever is asked, in whatever order, the image stays sound and equals the replay of the written records', () => {
  const steps = fc.array(fc.tuple(fc.nat(11), fc.nat(30), fc.nat(30)), { minLength: 10, maxLength: 120 })
  fc.assert(
    fc.property(steps, (steps) => {
      const cluster = new ShardCluster()
      cluster.join({ id: 1, zone: 'zone-1' }, { id: 2, zone: 'zone-2' })
      for (const step of steps) {
        const before = cluster.image
        perform(cluster, step)
        assertSound(cluster, before)
      }
      // The bytes, read back, lead to the same image; and so does a snapshot of it.
      const level = 33
      for (const records of [cluster.log, [...recordsOf(cluster.image)]]) {
        const delta = new MetadataDelta(MetadataImage.empty)
        for (const record of records) delta.replay(decodeMetadataRecord(encodeRecord(record, level)))
        assert.equal(hashOf(delta.apply(cluster.image.position)), hashOf(cluster.image))
      }
    }),
    { numRuns: 150 },
  )
})

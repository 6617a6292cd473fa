import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { changesBetween } from './changes.ts'
import { MetadataDelta } from './delta.ts'
import { MetadataImage, type PartitionImage } from './image.ts'
import { type MetadataRecord, type PartitionRecord, partitionChange, ResourceType } from './records.ts'
import { hashOf, recordsOf } from './snapshot.ts'

const topicId = (n: number) => Buffer.alloc(16, n + 1).toString('base64url')

function broker(brokerId: number, brokerEpoch: number): MetadataRecord {
  const endPoints = [{ name: 'PLAINTEXT', host: 'localhost', port: 9092, securityProtocol: 0 }]
  const features = [{ name: 'metadata.version', minSupportedVersion: 7, maxSupportedVersion: 29 }]
  return {
    type: 'RegisterBroker',
    value: {
      brokerId,
      brokerEpoch,
      isMigratingZkBroker: false,
      incarnationId: topicId(brokerId + 100),
      endPoints,
      features,
      rack: null,
      fenced: true,
      inControlledShutdown: false,
      logDirs: [topicId(200)],
      cordonedLogDirs: null,
      outOfSpace: 0,
    },
  }
}

function partition(id: string, partitionId: number, more: Partial<PartitionRecord> = {}): MetadataRecord {
  const none: number[] = []
  const value = {
    partitionId,
    topicId: id,
    replicas: [1, 2],
    isr: [1, 2],
    removingReplicas: none,
    addingReplicas: none,
    leader: 1,
    leaderRecoveryState: 0,
    leaderEpoch: 0,
    partitionEpoch: 0,
    directories: [topicId(200), topicId(201)],
    eligibleLeaderReplicas: null,
    lastKnownElr: null,
    ...more,
  }
  return { type: 'Partition', value }
}

const topic = (name: string, id: string): MetadataRecord => ({ type: 'Topic', value: { name, topicId: id } })

function replay(image: MetadataImage, ...records: MetadataRecord[]) {
  const delta = new MetadataDelta(image)
  for (const record of records) delta.replay(record)
  const offset = image.position.offset + records.length
  return { image: delta.apply({ offset, epoch: 1, timestampMs: 1000 + offset }), changes: delta.changes }
}

interface ModelPartition {
  leader: number
  leaderEpoch: number
  epoch: number
}

/** A dumb second image: plain maps, whole copies, nothing shared. */
class Model {
  topics = new Map<string, { name: string; partitions: ModelPartition[] }>()
  brokers = new Map<number, { epoch: number; fenced: boolean }>()
  configs = new Map<string, string>()
  offset = 0
}

/** Turns random numbers into a record that is legal in the model's state, and changes the model. */
function step(model: Model, kind: number, a: number, b: number): MetadataRecord {
  model.offset++
  const topics = [...model.topics]
  const [id, found] = topics[a % Math.max(1, topics.length)] ?? []
  if (kind === 0 || id === undefined || found === undefined) {
    const name = `topic-${a % 4}`
    const old = topics.find(([, { name: other }]) => other === name)
    if (old !== undefined) {
      model.topics.delete(old[0])
      for (const key of model.configs.keys()) if (key.startsWith(`${name} `)) model.configs.delete(key)
      return { type: 'RemoveTopic', value: { topicId: old[0] } }
    }
    const fresh = Buffer.from(String(model.offset).padStart(16, '0')).toString('base64url')
    model.topics.set(fresh, { name, partitions: [] })
    return topic(name, fresh)
  }
  if (kind === 1 || found.partitions.length === 0) {
    found.partitions.push({ leader: 1, leaderEpoch: 0, epoch: 0 })
    return partition(id, found.partitions.length - 1)
  }
  const index = b % found.partitions.length
  const target = found.partitions[index] as ModelPartition
  if (kind === 2) {
    target.epoch++
    target.leaderEpoch++
    target.leader = a % 3
    return partitionChange({ topicId: id, partitionId: index, leader: a % 3 })
  }
  if (kind === 3) {
    target.epoch++
    return partitionChange({ topicId: id, partitionId: index, isr: [1] })
  }
  if (kind === 4) {
    model.brokers.set(a % 3, { epoch: model.offset, fenced: true })
    return broker(a % 3, model.offset)
  }
  const known = model.brokers.get(a % 3)
  if (kind === 5 && known !== undefined) {
    known.fenced = !known.fenced
    const fenced = known.fenced ? 1 : -1
    const change = { inControlledShutdown: 0, logDirs: [], cordonedLogDirs: null, outOfSpace: -1 }
    return {
      type: 'BrokerRegistrationChange',
      value: { brokerId: a % 3, brokerEpoch: known.epoch, fenced, ...change },
    }
  }
  const value = b % 3 === 0 ? null : String(b)
  const key = `key-${b % 2}`
  if (value === null) model.configs.delete(`${found.name} ${key}`)
  else model.configs.set(`${found.name} ${key}`, value)
  return {
    type: 'Config',
    value: { resourceType: ResourceType.topic, resourceName: found.name, name: key, value },
  }
}

function assertLikeModel(image: MetadataImage, model: Model): void {
  const topics = new Map(
    [...image.topicsById].map(([id, { name, partitions }]) => [
      id,
      {
        name,
        partitions: partitions.map(({ leader, leaderEpoch, partitionEpoch: epoch }) => ({
          leader,
          leaderEpoch,
          epoch,
        })),
      },
    ]),
  )
  assert.deepEqual(topics, model.topics)
  assert.equal(image.topicsByName.size, model.topics.size)
  for (const [id, { name }] of model.topics) assert.equal(image.topic(name), image.topicById(id))
  const brokers = new Map([...image.brokers].map(([id, { brokerEpoch: epoch, fenced }]) => [id, { epoch, fenced }]))
  assert.deepEqual(brokers, model.brokers)
  const configs = new Map<string, string>()
  for (const { name, values } of image.configs.values()) {
    for (const [key, value] of values) configs.set(`${name} ${key}`, value)
  }
  assert.deepEqual(configs, model.configs)
}

const steps = fc.array(fc.tuple(fc.nat(6), fc.nat(20), fc.nat(20), fc.boolean()), { maxLength: 80 })

test('an image equals a dumb model after any records, cut into deltas anywhere, and comes back from its snapshot', () => {
  fc.assert(
    fc.property(steps, (steps) => {
      const model = new Model()
      let image = MetadataImage.empty
      let delta = new MetadataDelta(image)
      const apply = () => {
        const before = image
        const hash = hashOf(before)
        image = delta.apply({ offset: model.offset, epoch: 1, timestampMs: 0 })
        assert.equal(hashOf(before), hash)
        assertLikeModel(image, model)
        const changes = changesBetween(before, image)
        for (const list of ['deletedTopics', 'createdTopics', 'partitions', 'brokers', 'configs'] as const) {
          assert.deepEqual(new Set<unknown>(delta.changes[list]), new Set<unknown>(changes[list]))
        }
        delta = new MetadataDelta(image)
      }
      for (const [kind, a, b, cut] of steps) {
        delta.replay(step(model, kind, a, b))
        if (cut) apply()
      }
      apply()
      const { image: restored } = replay(MetadataImage.empty, ...recordsOf(image))
      assert.equal(hashOf(restored), hashOf(image))
      assert.deepEqual([...recordsOf(restored)], [...recordsOf(image)])
      assertLikeModel(restored, model)
    }),
    { numRuns: 300 },
  )
})

test('a topic deleted and created again in one delta is reported as both, and loses its configs', () => {
  const config = { resourceType: ResourceType.topic, resourceName: 'orders', name: 'retention.ms', value: '1' }
  const [old, fresh] = [topicId(1), topicId(2)]
  const { image } = replay(MetadataImage.empty, topic('orders', old), partition(old, 0), {
    type: 'Config',
    value: config,
  })
  const remove: MetadataRecord = { type: 'RemoveTopic', value: { topicId: old } }
  const { image: after, changes } = replay(image, remove, topic('orders', fresh), partition(fresh, 0))
  assert.deepEqual(changes.deletedTopics, [image.topicById(old)])
  assert.deepEqual(changes.createdTopics, [after.topic('orders')])
  assert.deepEqual(changes.partitions, [
    { topic: after.topic('orders'), partition: 0, before: null, after: after.partition('orders', 0) },
  ])
  assert.deepEqual(
    changes.configs.map(({ name }) => name),
    ['orders'],
  )
  assert.equal(after.configOf({ type: ResourceType.topic, name: 'orders' }).size, 0)
})

test('a topic created and deleted in one delta leaves no trace', () => {
  const id = topicId(1)
  const { image, changes } = replay(MetadataImage.empty, topic('orders', id), partition(id, 0), {
    type: 'RemoveTopic',
    value: { topicId: id },
  })
  assert.equal(image.topicsById.size, 0)
  assert.deepEqual([changes.createdTopics, changes.deletedTopics, changes.partitions], [[], [], []])
})

test('a leader named again starts a new leader epoch; other changes count in the partition epoch only', () => {
  const id = topicId(1)
  const { image } = replay(MetadataImage.empty, topic('orders', id), partition(id, 0))
  const shrink = partitionChange({ topicId: id, partitionId: 0, isr: [1], eligibleLeaderReplicas: [2] })
  const { image: shrunk } = replay(image, shrink)
  const epochs = ({ leaderEpoch, partitionEpoch }: PartitionImage) => [leaderEpoch, partitionEpoch]
  assert.deepEqual(epochs(shrunk.partition('orders', 0) as PartitionImage), [0, 1])
  assert.deepEqual(shrunk.partition('orders', 0)?.elr, [2])
  const { image: led } = replay(shrunk, partitionChange({ topicId: id, partitionId: 0, leader: 1 }))
  assert.deepEqual(epochs(led.partition('orders', 0) as PartitionImage), [1, 2])
  const { image: cleared } = replay(led, { type: 'ClearElr', value: { topicName: 'orders' } })
  assert.deepEqual(cleared.partition('orders', 0)?.elr, [])
  assert.deepEqual(epochs(cleared.partition('orders', 0) as PartitionImage), [1, 3])
  assert.equal(
    replay(cleared, { type: 'ClearElr', value: { topicName: '' } }).image.topic('orders'),
    cleared.topic('orders'),
  )
})

test('records that contradict the image stop the node', () => {
  const id = topicId(1)
  const { image } = replay(MetadataImage.empty, topic('orders', id), partition(id, 0), broker(1, 5))
  const wrong: MetadataRecord[] = [
    topic('orders', topicId(2)),
    topic('other', id),
    partition(id, 2),
    partition(topicId(3), 0),
    partitionChange({ topicId: id, partitionId: 1 }),
    { type: 'RemoveTopic', value: { topicId: topicId(3) } },
    { type: 'FenceBroker', value: { id: 1, epoch: 4 } },
    { type: 'UnfenceBroker', value: { id: 2, epoch: 5 } },
  ]
  for (const record of wrong) {
    assert.throws(() => replay(image, record), { name: 'AssertionError' }, JSON.stringify(record))
  }
})

test('what no handler serves yet comes through a snapshot unharmed', () => {
  const acl = { resourceType: 2, resourceName: 'orders', patternType: 3, principal: 'User:a', host: '*' }
  const salt = Buffer.from('salt')
  const kept: MetadataRecord[] = [
    { type: 'FeatureLevel', value: { name: 'metadata.version', featureLevel: 29 } },
    { type: 'FeatureLevel', value: { name: 'group.version', featureLevel: 1 } },
    {
      type: 'RegisterController',
      value: { controllerId: 1, incarnationId: topicId(9), zkMigrationReady: false, endPoints: [], features: [] },
    },
    {
      type: 'ClientQuota',
      value: { entity: [{ entityType: 'user', entityName: null }], key: 'rate', value: 1.5, remove: false },
    },
    { type: 'ProducerIds', value: { brokerId: -1, brokerEpoch: -1, nextProducerId: 3000 } },
    { type: 'AccessControlEntry', value: { id: topicId(7), ...acl, operation: 3, permissionType: 3 } },
    {
      type: 'UserScramCredential',
      value: { name: 'alice', mechanism: 1, salt, storedKey: salt, serverKey: salt, iterations: 4096 },
    },
    {
      type: 'DelegationToken',
      value: {
        owner: 'a',
        requester: 'a',
        renewers: [],
        issueTimestamp: 1,
        maxTimestamp: 2,
        expirationTimestamp: 2,
        tokenId: 't',
      },
    },
  ]
  const { image } = replay(MetadataImage.empty, ...kept)
  assert.deepEqual([...recordsOf(image)], kept)
  const removals: MetadataRecord[] = [
    { type: 'RemoveAccessControlEntry', value: { id: topicId(7) } },
    { type: 'RemoveUserScramCredential', value: { name: 'alice', mechanism: 1 } },
    { type: 'RemoveDelegationToken', value: { tokenId: 't' } },
    { type: 'UnregisterController', value: { controllerId: 1 } },
    {
      type: 'ClientQuota',
      value: { entity: [{ entityType: 'user', entityName: null }], key: 'rate', value: 0, remove: true },
    },
    { type: 'FeatureLevel', value: { name: 'group.version', featureLevel: 0 } },
  ]
  const left = [...recordsOf(replay(image, ...removals).image)].map(({ type }) => type)
  assert.deepEqual(left, ['FeatureLevel', 'ProducerIds'])
})

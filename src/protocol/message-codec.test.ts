import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MalformedError } from '../base/bytes.ts'
import { decodeMessage, encodeMessage } from './message-codec.ts'
import { ConsumerProtocolSubscription } from './messages/consumer-protocol.ts'
import { LeaderChangeMessage } from './messages/control-records.ts'
import { decodeGroupRecord, encodeGroupRecord } from './messages/group-records.ts'
import { decodeMetadataRecord, encodeMetadataRecord } from './messages/metadata-records.ts'
import { decodeRemoteLogRecord, encodeRemoteLogRecord } from './messages/remote-log-records.ts'
import { AbortedTxn } from './messages/storage-files.ts'

const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ'

test('a metadata record has a frame version, its id and its version in front', () => {
  const bytes = encodeMetadataRecord({ type: 'Topic', value: { name: 'ab', topicId: TOPIC_ID } }, 0)
  assert.equal(bytes.toString('hex'), '01' + '02' + '00' + '036162' + '00'.repeat(15) + '01' + '00')
  assert.deepEqual(decodeMetadataRecord(bytes), { type: 'Topic', version: 0, value: { name: 'ab', topicId: TOPIC_ID } })
})

test('a metadata record that cannot be understood is refused, not skipped', () => {
  assert.throws(() => decodeMetadataRecord(Buffer.from('02' + '02' + '00', 'hex')), /frame version 2 is not known/)
  assert.throws(() => decodeMetadataRecord(Buffer.from('01' + 'e707' + '00', 'hex')), /record id 999 is not known/)
  assert.throws(
    () => decodeMetadataRecord(Buffer.from('01' + '02' + '09', 'hex')),
    /Topic version 9 is not known, 0 to 0/,
  )
  const topic = encodeMetadataRecord({ type: 'Topic', value: { name: 'ab', topicId: TOPIC_ID } }, 0)
  assert.throws(() => decodeMetadataRecord(Buffer.concat([topic, Buffer.from('x')])), /Topic v0: 1 bytes too many/)
  assert.throws(() => decodeMetadataRecord(Buffer.alloc(0)), MalformedError)
})

test('what a partition change leaves out means "as before"', () => {
  const bytes = encodeMetadataRecord(
    { type: 'PartitionChange', value: { partitionId: 3, topicId: TOPIC_ID, leader: 2 } },
    2,
  )
  const { type, value } = decodeMetadataRecord(bytes)
  assert.equal(type, 'PartitionChange')
  assert.deepEqual(value, {
    partitionId: 3,
    topicId: TOPIC_ID,
    isr: null,
    leader: 2,
    replicas: null,
    removingReplicas: null,
    addingReplicas: null,
    leaderRecoveryState: -1,
    directories: null,
    eligibleLeaderReplicas: null,
    lastKnownElr: null,
  })
})

test('a group record has its kind in front of the key and its version in front of the value', () => {
  const key = { group: 'g', topic: 't', partition: 5 }
  const value = { offset: 42, leaderEpoch: 7, metadata: '', commitTimestamp: 1000 }
  const encoded = encodeGroupRecord({ type: 'OffsetCommit', key, value }, 3)
  assert.equal(encoded.key.toString('hex'), '0001' + '000167' + '000174' + '00000005')
  assert.equal(encoded.value?.toString('hex'), '0003' + '000000000000002a' + '00000007' + '0000' + '00000000000003e8')
  const decoded = decodeGroupRecord(encoded.key, encoded.value)
  const absent = { expireTimestamp: -1, topicId: 'AAAAAAAAAAAAAAAAAAAAAA', lost: [] }
  assert.deepEqual(decoded, { type: 'OffsetCommit', key, value: { ...value, ...absent } })
})

test('a group record without a value deletes; one of an unknown kind is passed over', () => {
  const { key, value } = encodeGroupRecord({ type: 'GroupMetadata', key: { group: 'g' }, value: null }, 3)
  assert.equal(value, null)
  assert.deepEqual(decodeGroupRecord(key, null), { type: 'GroupMetadata', key: { group: 'g' }, value: null })
  assert.equal(decodeGroupRecord(Buffer.from('7000', 'hex'), Buffer.from('whatever')), null)
})

test('a group record whose value is from a later version is refused', () => {
  const { key } = encodeGroupRecord({ type: 'GroupMetadata', key: { group: 'g' }, value: null }, 3)
  assert.throws(() => decodeGroupRecord(key, Buffer.from('0063', 'hex')), /GroupMetadata version 99 is not known/)
  assert.throws(() => decodeGroupRecord(Buffer.from('00', 'hex'), null), MalformedError)
})

test('a remote log record has no frame version', () => {
  const topicIdPartition = { name: 't', id: TOPIC_ID, partition: 1 }
  const value = { topicIdPartition, brokerId: 1, eventTimestampMs: 5, remotePartitionDeleteState: 0 }
  const bytes = encodeRemoteLogRecord({ type: 'RemotePartitionDeleteMetadata', value }, 0)
  assert.equal(bytes.subarray(0, 4).toString('hex'), '02' + '00' + '0274')
  assert.deepEqual(decodeRemoteLogRecord(bytes), { type: 'RemotePartitionDeleteMetadata', version: 0, value })
})

test('a subscription of a later version is read as far as we know it', () => {
  const value = { topics: ['t'], generationId: 3, rackId: 'r1' }
  const bytes = encodeMessage(ConsumerProtocolSubscription, 3, value)
  assert.equal(bytes.readInt16BE(0), 3)
  const later = Buffer.concat([bytes, Buffer.from('a field of version 9')])
  later.writeInt16BE(9, 0)
  const decoded = decodeMessage(ConsumerProtocolSubscription, later)
  assert.deepEqual(decoded, { version: 9, value: { ...value, userData: null, ownedPartitions: [] } })
  assert.throws(() => decodeMessage(ConsumerProtocolSubscription, Buffer.from('ffff', 'hex')), MalformedError)
})

test('a message of a later version is refused where later versions mean something else', () => {
  const bytes = encodeMessage(LeaderChangeMessage, 0, { leaderId: 1, voters: [{ voterId: 1 }], grantingVoters: [] })
  assert.equal(bytes.toString('hex'), '0000' + '00000001' + '02' + '00000001' + '00' + '01' + '00')
  bytes.writeInt16BE(2, 0)
  assert.throws(
    () => decodeMessage(LeaderChangeMessage, bytes),
    /LeaderChangeMessage version 2 is not known, 0 to 1 are/,
  )
})

test('an entry of a transaction index takes 34 bytes', () => {
  const value = { producerId: 1, firstOffset: 3, lastOffset: 4, lastStableOffset: 5 }
  assert.equal(encodeMessage(AbortedTxn, 0, value).length, 34)
})

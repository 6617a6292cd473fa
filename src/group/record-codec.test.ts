import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MalformedError } from '../base/bytes.ts'
import type { TopicId } from '../model/ids.ts'
import { decodeRecord, encodeRecord } from './record-codec.ts'
import type { GroupMetadata, GroupRecord, OffsetValue, SavedMember } from './records.ts'

const plain = { noNullPrototype: true } as const
const text = fc.string({ maxLength: 20 })
const millis = fc.nat({ max: 2 ** 31 - 1 })
const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array))

const offsetValue: fc.Arbitrary<OffsetValue> = fc.oneof(
  fc.record(
    {
      offset: fc.nat(),
      leaderEpoch: fc.integer({ min: -1, max: 100 }),
      metadata: text,
      commitTimestampMs: millis,
      expireTimestampMs: fc.constant(-1),
      topicId: fc.constantFrom('AAAAAAAAAAAAAAAAAAAAAA' as TopicId, 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId),
    },
    plain,
  ),
  // The version with an expiry time has no epoch and no topic id.
  fc.record(
    {
      offset: fc.nat(),
      leaderEpoch: fc.constant(-1),
      metadata: text,
      commitTimestampMs: millis,
      expireTimestampMs: millis,
      topicId: fc.constant('AAAAAAAAAAAAAAAAAAAAAA' as TopicId),
    },
    plain,
  ),
)
const offsetRecord: fc.Arbitrary<GroupRecord> = fc.record(
  {
    type: fc.constant('offset' as const),
    groupId: text,
    topic: text,
    partition: fc.nat(),
    value: fc.option(offsetValue, { nil: null }),
  },
  plain,
)

const member: fc.Arbitrary<SavedMember> = fc.record(
  {
    memberId: text,
    groupInstanceId: fc.option(text, { nil: null }),
    clientId: text,
    clientHost: text,
    rebalanceTimeoutMs: millis,
    sessionTimeoutMs: millis,
    subscription: bytes,
    assignment: bytes,
  },
  plain,
)
const groupValue: fc.Arbitrary<GroupMetadata> = fc.record(
  {
    protocolType: text,
    generation: fc.nat(),
    protocolName: fc.option(text, { nil: null }),
    leaderId: fc.option(text, { nil: null }),
    stateTimestampMs: fc.integer({ min: -1, max: 2 ** 40 }),
    members: fc.array(member, { maxLength: 4 }),
  },
  plain,
)
const groupRecord: fc.Arbitrary<GroupRecord> = fc.record(
  { type: fc.constant('group' as const), groupId: text, value: fc.option(groupValue, { nil: null }) },
  plain,
)

test('what is written is read back as it was', () => {
  fc.assert(
    fc.property(fc.oneof(offsetRecord, groupRecord), (record) => {
      const { key, value } = encodeRecord(record)
      assert.deepEqual(decodeRecord(key, value), record)
    }),
  )
})

/** As Kafka lays its fields out: built by hand, so that the codec is not its own witness. */
function layout(...fields: (number | string | [64 | 32 | 16, number])[]): Buffer {
  const pieces = fields.map((field) => {
    if (typeof field === 'string') {
      const length = Buffer.alloc(2)
      length.writeInt16BE(Buffer.byteLength(field))
      return Buffer.concat([length, Buffer.from(field)])
    }
    const [bits, number] = typeof field === 'number' ? ([32, field] as const) : field
    const piece = Buffer.alloc(bits / 8)
    if (bits === 64) piece.writeBigInt64BE(BigInt(number))
    else if (bits === 32) piece.writeInt32BE(number)
    else piece.writeInt16BE(number)
    return piece
  })
  return Buffer.concat(pieces)
}

const offsetKey = layout([16, 1], 'billing', 'orders', 3)

for (const [version, tail, expected] of [
  [0, ['m', [64, 1000]], {}],
  [1, ['m', [64, 1000], [64, 5000]], { expireTimestampMs: 5000 }],
  [2, ['m', [64, 1000]], {}],
  [3, ['m', [64, 1000]], { leaderEpoch: 8 }],
] as const) {
  test(`an offset written in version ${version} is read`, () => {
    const epoch: [32, number][] = version >= 3 ? [[32, 8]] : []
    const value = layout([16, version], [64, 42], ...epoch, ...(tail as unknown as (string | [64, number])[]))
    assert.deepEqual(decodeRecord(offsetKey, value), {
      type: 'offset',
      groupId: 'billing',
      topic: 'orders',
      partition: 3,
      value: {
        offset: 42,
        leaderEpoch: -1,
        metadata: 'm',
        commitTimestampMs: 1000,
        expireTimestampMs: -1,
        topicId: 'AAAAAAAAAAAAAAAAAAAAAA',
        ...expected,
      },
    })
  })
}

test('a group written before rebalance timeouts existed uses its session timeout for both', () => {
  const value = layout(
    ...[[16, 0] as [16, number], 'consumer', 7, 'range', 'm1', 1, 'm1', 'client', '/10.0.0.1', 30_000, 0, 0],
  )
  const record = decodeRecord(layout([16, 2], 'billing'), value)
  assert.ok(record.type === 'group' && record.value !== null)
  assert.equal(record.value.stateTimestampMs, -1)
  assert.equal(record.value.members[0]?.rebalanceTimeoutMs, 30_000)
  assert.equal(record.value.members[0]?.groupInstanceId, null)
})

test('records of other kinds of groups name their group and nothing else is read of them', () => {
  const key = layout([16, 3], 'billing')
  const expected = { type: 'foreign', groupId: 'billing', isDefining: true }
  assert.deepEqual(decodeRecord(key, Buffer.from('anything')), { ...expected, isTombstone: false })
  assert.deepEqual(decodeRecord(key, null), { ...expected, isTombstone: true })
  assert.deepEqual(decodeRecord(layout([16, 99], 'x'), null), { type: 'unknown' })
})

test('a record of a known kind in a version that we do not know is refused, not guessed at', () => {
  assert.throws(() => decodeRecord(offsetKey, layout([16, 9], [64, 42])), MalformedError)
})

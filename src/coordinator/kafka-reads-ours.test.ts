import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeRecord } from '../group/record-codec.ts'
import type { GroupRecord } from '../group/records.ts'
import { NO_TOPIC_ID, type TopicId } from '../model/ids.ts'
import { buildBatch } from '../protocol/batch/build.ts'

const LIBS = process.env.MILLRACE_KAFKA_LIBS

const records: GroupRecord[] = [
  {
    type: 'offset',
    groupId: 'billing',
    topic: 'orders',
    partition: 3,
    value: {
      offset: 42,
      leaderEpoch: 7,
      metadata: 'note',
      commitTimestampMs: 1_700_000_000_000,
      expireTimestampMs: -1,
      topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId,
      // A field of our own, which Kafka skips.
      lost: [{ from: 10, to: 30, atMs: 1_700_000_000_000 }],
    },
  },
  {
    type: 'offset',
    groupId: 'billing',
    topic: 'orders',
    partition: 4,
    value: {
      offset: 43,
      leaderEpoch: -1,
      metadata: '',
      commitTimestampMs: 1_700_000_000_000,
      expireTimestampMs: 1_700_000_900_000,
      topicId: NO_TOPIC_ID,
    },
  },
  { type: 'offset', groupId: 'billing', topic: 'orders', partition: 5, value: null },
  {
    type: 'group',
    groupId: 'billing',
    value: {
      protocolType: 'consumer',
      generation: 5,
      protocolName: 'range',
      leaderId: 'm-1',
      stateTimestampMs: 1_700_000_000_000,
      members: [
        {
          memberId: 'm-1',
          groupInstanceId: 'one',
          clientId: 'client',
          clientHost: '/10.0.0.1',
          rebalanceTimeoutMs: 300_000,
          sessionTimeoutMs: 45_000,
          subscription: Buffer.from([0, 0, 0, 0, 0, 1, 0, 1, 0x78, 0, 0, 0, 0]),
          assignment: Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        },
      ],
    },
  },
  { type: 'group', groupId: 'gone', value: null },
]

test('kafka-dump-log reads the offsets and groups that we write', {
  skip: LIBS === undefined && 'MILLRACE_KAFKA_LIBS is not set: no Apache Kafka to compare with',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-dump-'))
  try {
    const log = join(folder, '__consumer_offsets-0')
    mkdirSync(log)
    const file = join(log, '00000000000000000000.log')
    const built = records.map((record) => ({ ...encodeRecord(record), timestampMs: 1_700_000_000_000 }))
    writeFileSync(file, buildBatch({ records: built, leaderEpoch: 1 }))
    const tool = 'org.apache.kafka.tools.DumpLogSegments'
    const args = ['-Xmx128m', '-cp', `${LIBS}/*`, tool, '--offsets-decoder', '--files', file]
    const { stdout, stderr } = spawnSync('java', args, { encoding: 'utf8' })
    const payloads = [...stdout.matchAll(/key: (\{.*?\}) payload: (.*)$/gm)]
    assert.equal(payloads.length, records.length, stdout + stderr)
    const said = payloads.map(([, key, value]) => [
      JSON.parse(key as string),
      value === '<DELETE>' ? null : JSON.parse(value as string),
    ])
    const key = (partition: number) => ({ type: '1', data: { group: 'billing', topic: 'orders', partition } })
    assert.deepEqual(said[0], [
      key(3),
      {
        version: '4',
        data: {
          offset: 42,
          leaderEpoch: 7,
          metadata: 'note',
          commitTimestamp: 1_700_000_000_000,
          topicId: 'AAAAAAAAAAAAAAAAAAAAAQ',
        },
      },
    ])
    assert.deepEqual(said[1], [
      key(4),
      {
        version: '1',
        data: { offset: 43, metadata: '', commitTimestamp: 1_700_000_000_000, expireTimestamp: 1_700_000_900_000 },
      },
    ])
    assert.deepEqual(said[2], [key(5), null])
    assert.equal(said[3]?.[1].version, '3')
    assert.equal(said[3]?.[1].data.generation, 5)
    assert.equal(said[3]?.[1].data.members[0].groupInstanceId, 'one')
    assert.deepEqual(said[4], [{ type: '2', data: { group: 'gone' } }, null])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../base/random.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import { OutlookBook, type PartitionOutlook } from './outlook-book.ts'
import { GroupShard } from './shard.ts'
import { DEFAULT_GROUP_CONFIG } from './types.ts'

const GROUPS = 10_000
const PARTITIONS = 10
/** `log.retention.check.interval.ms`: outlooks come once in that time. */
const ROUND_MS = 300_000
const NOW = { nowMs: 0, wallMs: 0, deletionMs: 0, refusal: null }

function outlook(partition: number, endOffset: number): PartitionOutlook {
  return {
    topic: 't',
    topicId: NO_TOPIC_ID,
    partition,
    leaderEpoch: 0,
    startOffset: 0,
    steps: [{ endOffset, dueMs: 1 }],
  }
}

function commit(shard: GroupShard, group: number, partition: number, recordOffset: number): void {
  const value = {
    offset: 5,
    leaderEpoch: -1,
    metadata: '',
    commitTimestampMs: recordOffset,
    expireTimestampMs: -1,
    topicId: NO_TOPIC_ID,
  }
  const record = { type: 'offset', groupId: `g${group}`, topic: 't', partition, value } as const
  shard.replay(record, { offset: recordOffset, producerId: null })
}

function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test('ten thousand groups cost less than a hundredth of a core', () => {
  const book = new OutlookBook()
  const shard = new GroupShard(DEFAULT_GROUP_CONFIG, new Random(1), book)
  for (let group = 0; group < GROUPS; group++) {
    for (let partition = 0; partition < PARTITIONS; partition++) commit(shard, group, partition, group)
  }
  const outlooksOf = (end: number) => Array.from({ length: PARTITIONS }, (_, partition) => outlook(partition, end))
  // All are level with what is in danger, so every offset is compared and none is at risk.
  const told = Math.min(
    ...[3, 4, 5].map((end) =>
      cpuMs(() => shard.handle({ type: 'outlooks', caller: NOBODY, body: book.update(outlooksOf(end)) }, end, NOW)),
    ),
  )
  assert.ok(told < 0.01 * ROUND_MS, `${told} ms for one outlook of each partition`)
})

const NOBODY = { apiVersion: 0, clientId: '', clientHost: '' }

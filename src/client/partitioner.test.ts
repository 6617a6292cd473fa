import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../base/random.ts'
import type { TopicId } from '../model/ids.ts'
import type { TopicInfo } from './metadata.ts'
import { murmur2, partitionForKey, StickyPartitions } from './partitioner.ts'

test('keys are hashed as the Java client hashes them', () => {
  // Utils.murmur2 and BuiltInPartitioner.partitionForKey(key, 4) of kafka-clients 4.4.0.
  const known: [string, number, number][] = [
    ['', 275646681, 1],
    ['a', -1563381124, 0],
    ['ab', 316155434, 2],
    ['abc', 479470107, 3],
    ['ä', -1937952267, 1],
    ['hello', 2132663229, 1],
    ['order-4711', 1584983611, 3],
    ['the quick brown fox', 2136040129, 1],
  ]
  for (const [key, hash, partition] of known) {
    assert.equal(murmur2(Buffer.from(key)), hash, key)
    assert.equal(partitionForKey(Buffer.from(key), 4), partition, key)
  }
})

function topic(leaders: number[]): TopicInfo {
  const partitions = leaders.map((leader, partition) => ({
    partition,
    leader,
    leaderEpoch: 0,
    replicas: [1],
    isr: [1],
    offlineReplicas: [],
    errorCode: 0,
  }))
  return { name: 't', topicId: 'x' as TopicId, isInternal: false, errorCode: 0, partitions }
}

test('records without a key stay together until a batch is full, and avoid partitions without a leader', () => {
  const sticky = new StickyPartitions(new Random(1), 1000)
  const first = sticky.choose(topic([1, 1, 1]), 500)
  assert.equal(sticky.choose(topic([1, 1, 1]), 500), first)
  const counts = [0, 0, 0]
  for (let i = 0; i < 300; i++) {
    const partition = sticky.choose(topic([1, -1, 1]), 1000)
    counts[partition] = (counts[partition] as number) + 1
  }
  assert.equal(counts[1], 0)
  assert.ok((counts[0] as number) > 100 && (counts[2] as number) > 100, `${counts}`)
})

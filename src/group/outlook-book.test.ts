import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TopicId } from '../model/ids.ts'
import { dangerEnd, OutlookBook, type PartitionOutlook } from './outlook-book.ts'

const ID = 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId

function outlook(topic: string, partition: number, steps: PartitionOutlook['steps'] = []): PartitionOutlook {
  return { topic, topicId: ID, partition, leaderEpoch: 1, startOffset: 5, steps }
}

test('whoever names partitions without end takes no memory without end', () => {
  const book = new OutlookBook(({ topic }) => topic === 'orders')
  book.update([outlook('orders', 0)])
  for (let index = 0; index < 3000; index++) book.update([outlook(`forged-${index}`, 0)])
  assert.equal(book.get('forged-0', 0), undefined)
  assert.equal(book.get('forged-1999', 0), undefined)
  assert.ok(book.get('forged-2999', 0))
  assert.ok(book.get('orders', 0))
  const steps = Array.from({ length: 100_000 }, (_, index) => ({ endOffset: index + 10, dueMs: index }))
  book.update([outlook('orders', 0, steps)])
  const kept = book.get('orders', 0) as PartitionOutlook
  assert.equal(kept.steps.length, 64)
  assert.equal(dangerEnd(kept), 100_009)
})

test('a partition that becomes known in time stays', () => {
  const known = new Set<string>()
  const book = new OutlookBook(({ topic }) => known.has(topic))
  book.update([outlook('late', 0)])
  known.add('late')
  for (let index = 0; index < 2000; index++) book.update([outlook(`forged-${index}`, 0)])
  assert.ok(book.get('late', 0))
})

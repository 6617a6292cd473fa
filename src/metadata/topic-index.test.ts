import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TopicId } from '../model/ids.ts'
import type { PartitionImage, TopicImage } from './image.ts'
import { TopicIndex } from './topic-index.ts'

const ids = fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 })
const partition = fc.record({
  replicas: ids,
  directories: fc.constant([]),
  isr: fc.constant([]),
  leader: fc.integer({ min: -1, max: 4 }).map((id) => (id === 0 ? -1 : id)),
  addingReplicas: fc.constantFrom<number[]>([], [2]),
  removingReplicas: fc.constantFrom<number[]>([], [3]),
  leaderRecoveryState: fc.constant(0),
  leaderEpoch: fc.nat(3),
  partitionEpoch: fc.nat(3),
  elr: fc.constantFrom<number[]>([], [1]),
  lastKnownElr: fc.constant([]),
})
const step = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(fc.array(partition, { minLength: 1, maxLength: 3 })))

function has(topic: TopicImage, is: (partition: PartitionImage) => boolean): boolean {
  return topic.partitions.some(is)
}

test('the index is what a walk over all partitions would find, after any changes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const topics = new Map<string, TopicImage>()
      let index = TopicIndex.empty
      for (const [id, partitions] of steps) {
        const before = topics.get(id)
        const after = partitions === null ? undefined : { name: id, topicId: id as TopicId, partitions }
        index = index.with(id, before, after)
        if (after === undefined) topics.delete(id)
        else topics.set(id, after)
      }
      const same = (found: Iterable<string>, is: (partition: PartitionImage) => boolean) => {
        const expected = [...topics.values()].filter((topic) => has(topic, is)).map(({ topicId }) => topicId)
        assert.deepEqual([...found].sort(byText), expected.sort(byText))
      }
      for (const brokerId of [1, 2, 3, 4]) {
        same(index.hostedBy(brokerId), ({ replicas }) => replicas.includes(brokerId))
        same(index.ledBy(brokerId), ({ leader }) => leader === brokerId)
        const leads = [...topics.values()].some((topic) => has(topic, ({ leader }) => leader === brokerId))
        assert.equal(index.leadsAny(brokerId), leads)
      }
      same(index.leaderless, ({ leader }) => leader < 0)
      same(index.notPreferred, ({ leader, replicas }) => leader !== replicas[0])
      same(index.reassigning, (each) => each.addingReplicas.length + each.removingReplicas.length > 0)
      same(index.withEligible, ({ elr }) => elr.length > 0)
    }),
  )
})

const byText = (a: string, b: string) => (a < b ? -1 : 1)

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import type { TopicId } from '../../model/ids.ts'
import type { PartitionOutlook } from '../../group/outlook-book.ts'
import { OutlookBox } from './outlook-box.ts'

function outlook(partition: number, startOffset: number, dueMs = 100_000): PartitionOutlook {
  const steps = dueMs === 0 ? [] : [{ endOffset: startOffset + 10, dueMs }]
  return { topic: 't', topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId, partition, leaderEpoch: 0, startOffset, steps }
}

test('what was told before, or tells of nothing, is no news', () => {
  const box = new OutlookBox()
  assert.equal(box.put(outlook(0, 0, 0), 0), false, 'nothing is gone and nothing in danger')
  assert.equal(box.put(outlook(0, 5), 0), true)
  assert.equal(box.put(outlook(0, 5, 110_000), 0), false, 'about the same time')
  assert.equal(box.put(outlook(0, 5, 300_000), 0), true)
  assert.equal(box.put(outlook(0, 5, 0), 0), true, 'the danger is over')
})

test('a coordinator that started anew is told everything again, and one that has heard it all nothing', () => {
  const box = new OutlookBox()
  box.put(outlook(0, 5), 0)
  box.put(outlook(1, 5), 0)
  assert.deepEqual(box.behind(), [])
  box.setCoordinators(new Map([[7, 1]]))
  assert.deepEqual(box.behind(), [7])
  const told = box.unheard(7, 10)
  assert.deepEqual(
    told?.outlooks.map(({ partition }) => partition),
    [0, 1],
  )
  box.heard(7, 1, told?.upTo ?? 0)
  assert.deepEqual(box.behind(), [])
  box.setCoordinators(new Map([[7, 2]]))
  box.heard(7, 1, told?.upTo ?? 0)
  assert.deepEqual(box.behind(), [7], 'the answer was that of its life before')
})

test('whatever is lost on the way, in the end each coordinator has the newest of each partition (1,000 random histories)', () => {
  for (let seed = 0; seed < 1000; seed++) {
    const random = new Random(seed)
    const box = new OutlookBox()
    const coordinators = new Map<number, { epoch: number; known: Map<number, PartitionOutlook> }>()
    const newest = new Map<number, PartitionOutlook>()
    const send = (nodeId: number, isLost: boolean) => {
      const next = box.unheard(nodeId, random.between(1, 3))
      const receiver = coordinators.get(nodeId)
      if (next === null || receiver === undefined) return
      for (const one of next.outlooks) receiver.known.set(one.partition, one)
      if (!isLost) box.heard(nodeId, next.brokerEpoch, next.upTo)
    }
    for (let step = 0; step < 40; step++) {
      const nodeId = random.below(3)
      const kind = random.below(3)
      if (kind === 0) {
        const next = outlook(random.below(5), random.below(1000) + 1)
        if (box.put(next, 0)) newest.set(next.partition, next)
      } else if (kind === 1) {
        coordinators.set(nodeId, { epoch: step, known: new Map() })
        box.setCoordinators(new Map([...coordinators].map(([id, { epoch }]) => [id, epoch])))
      } else send(nodeId, random.chance(0.3))
    }
    while (box.behind().length > 0) for (const nodeId of box.behind()) send(nodeId, false)
    for (const { known } of coordinators.values()) assert.deepEqual(known, newest)
  }
})

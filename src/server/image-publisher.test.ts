import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MetadataDelta } from '../metadata/delta.ts'
import { MetadataImage } from '../metadata/image.ts'
import { ImagePublisher } from './image-publisher.ts'

/** The image after `before` with one more topic, and what changed. */
function withTopic(before: MetadataImage, name: string, offset: number) {
  const delta = new MetadataDelta(before)
  delta.replay({ type: 'Topic', value: { name, topicId: Buffer.alloc(16, offset).toString('base64url') } })
  const image = delta.apply({ offset, epoch: 1, timestampMs: 0 })
  return { changes: delta.changes, image }
}

test('an image is shown, and those who wait for it go on, when it has been applied', async () => {
  const applied: string[] = []
  let finish = () => {}
  const publisher = new ImagePublisher(async (changes) => {
    applied.push(changes.createdTopics.map(({ name }) => name).join())
    await new Promise<void>((resolve) => {
      finish = resolve
    })
  })
  const first = withTopic(MetadataImage.empty, 'a', 1)
  publisher.hold(first.image)
  publisher.begin()
  const second = withTopic(first.image, 'b', 2)
  const taken = publisher.take(second.changes, second.image)
  let reached = false
  const waiting = publisher.reached(2).then(() => {
    reached = true
  })
  await new Promise(setImmediate)
  assert.deepEqual(applied, ['b'])
  assert.equal(publisher.image, first.image)
  assert.equal(reached, false)
  finish()
  await taken
  await waiting
  assert.equal(publisher.image, second.image)
})

test('what comes while the node starts is compared with what it started from, not applied twice', async () => {
  const applied: string[][] = []
  const publisher = new ImagePublisher(async (changes) => {
    applied.push(changes.createdTopics.map(({ name }) => name))
  })
  const first = withTopic(MetadataImage.empty, 'a', 1)
  await publisher.take(first.changes, first.image)
  const second = withTopic(first.image, 'b', 2)
  publisher.hold(second.image)
  const third = withTopic(second.image, 'c', 3)
  const taken = Promise.all([
    publisher.take(second.changes, second.image),
    // The quorum may join steps: this one says what changed since the empty image.
    publisher.take({ ...third.changes, before: MetadataImage.empty }, third.image),
  ])
  publisher.begin()
  await taken
  assert.deepEqual(applied, [['c']])
})

test('nobody waits for an image of a node that stops', async () => {
  const publisher = new ImagePublisher(async () => {})
  publisher.hold(MetadataImage.empty)
  publisher.begin()
  const waiting = publisher.reached(5)
  publisher.close()
  await waiting
  const late = withTopic(MetadataImage.empty, 'a', 5)
  await publisher.take(late.changes, late.image)
  assert.equal(publisher.image, MetadataImage.empty)
})

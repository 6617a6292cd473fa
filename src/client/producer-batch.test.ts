import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProducerBatch } from './producer-batch.ts'

test('a batch of very many records can be sent in halves', async () => {
  const batch = new ProducerBatch('t', 0, { createdMs: 0, deadlineMs: 1 }, { expectedBytes: 100 })
  const count = 400_000
  let last: Promise<{ offset: number }> | null = null
  for (let index = 0; index < count; index++) last = batch.add({ key: null, value: null, timestampMs: 5 }, 20)
  const [first, second] = batch.split()
  assert.deepEqual([first.count, second.count], [count / 2, count / 2])
  first.succeed(0, -1)
  second.succeed(count / 2, -1)
  assert.equal((await last)?.offset, count - 1)
  await batch.settled
})

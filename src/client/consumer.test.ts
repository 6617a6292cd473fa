import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualEnv } from '../testing/manual-env.ts'
import { Client } from './client.ts'
import { Consumer } from './consumer.ts'
import { UsageError } from './errors.ts'

function refuses(call: () => unknown, message: RegExp): void {
  assert.throws(call, (error) => error instanceof UsageError && message.test(error.message))
}

test('what would end the process when it is sent is refused at the call that brought it', async () => {
  const client = new Client(new ManualEnv().env, { bootstrap: 'node:1' })
  for (const [options, message] of [
    [{ maxBytes: 2 ** 31 }, /maxBytes 2147483648: a whole number from 1 to 2147483647/],
    [{ partitionBytes: Number.NaN }, /partitionBytes NaN/],
    [{ maxPollRecords: 0 }, /maxPollRecords 0: a number from 1 on/],
    [{ autoOffsetReset: 'first' }, /autoOffsetReset first: one of earliest, latest, none/],
  ] as const) {
    refuses(() => new Consumer(client, options as never), message)
  }
  const consumer = new Consumer(client, { groupId: 'g' })
  refuses(() => consumer.assign([{ topic: 't', partition: 0.5 }]), /partition of t 0\.5/)
  refuses(() => consumer.subscribe(['t'.repeat(40_000)]), /40000 bytes, at most 249/)
  const partition = { topic: 't', partition: 0 }
  consumer.assign([partition])
  refuses(() => consumer.seek(partition, Number.NaN), /offset NaN/)
  refuses(() => consumer.seek(partition, -5), /offset -5/)
  refuses(() => consumer.seek(partition, 'begin' as never), /offset begin: one of earliest, latest/)
  await assert.rejects(consumer.poll(Number.NaN), { code: 'USAGE' })
  await consumer.close()
  await client.close()
})

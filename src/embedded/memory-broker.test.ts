import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Admin, Consumer, Producer } from './client.ts'
import { MemoryBroker } from './memory-broker.ts'

const values = (records: readonly { value: Buffer | null }[]) => records.map(({ value }) => String(value))

test('what a test produces a client reads, and what a client produces the test sees', async () => {
  await using broker = await MemoryBroker.start()
  await broker.produce('orders', ['a', { key: 'k', value: 'b', headers: { h: '1' } }, Buffer.from('c')])
  await using consumer = new Consumer(broker.bootstrapServers, { groupId: 'billing', autoOffsetReset: 'earliest' })
  consumer.subscribe(['orders'])
  const read: string[] = []
  while (read.length < 3) read.push(...values(await consumer.poll(1000)))
  assert.deepEqual(read, ['a', 'b', 'c'])
  assert.equal(await broker.group('billing').lag(), 3)
  await consumer.commit()
  assert.equal(await broker.group('billing').lag(), 0)

  await using producer = new Producer(broker.bootstrapServers)
  const found = broker.waitFor('invoices', 2)
  await Promise.all([
    producer.send({ topic: 'invoices', value: '1' }),
    producer.send({ topic: 'invoices', value: '2' }),
  ])
  assert.deepEqual(values(await found), ['1', '2'])
  assert.deepEqual(await broker.records('nothing'), [])
  await assert.rejects(
    broker.waitFor('invoices', 3, { withinMs: 0 }),
    /^NotInTimeError: after 0 ms invoices has 2 records, where 3 are waited for; there: "1", "2"$/,
  )
})

test('a group has read all only where it is known how far it has read', async () => {
  await using broker = await MemoryBroker.start()
  await broker.createTopic('orders', { partitions: 1 })
  const group = broker.group('billing')
  await assert.rejects(group.lag(), /group billing: The group does not exist/)
  await assert.rejects(group.lagMs(), { code: 'GROUP_ID_NOT_FOUND' })

  await using consumer = new Consumer(broker.bootstrapServers, { groupId: 'billing', autoOffsetReset: 'earliest' })
  consumer.subscribe(['nothing-yet'])
  await consumer.poll(0)
  while ((await group.lag().catch(() => 0)) === 0) await consumer.poll(50)
  assert.deepEqual([await group.lag(), await group.lagMs()], [null, null], 'a member that has been given nothing')

  await using admin = new Admin(broker.bootstrapServers)
  await admin.groups.commitOffsets('other', [{ topic: 'orders', partition: 0, offset: 0 }])
  assert.deepEqual([await broker.group('other').lag(), await broker.group('other').lagMs()], [0, 0])
  await consumer.close()
})

test('what a group has not committed has no age', async () => {
  await using broker = await MemoryBroker.start({ settings: { 'num.partitions': '1' } })
  await broker.produce('orders', ['a'])
  await using consumer = new Consumer(broker.bootstrapServers, { groupId: 'billing', autoOffsetReset: 'earliest' })
  consumer.subscribe(['orders'])
  while ((await consumer.poll(1000)).length === 0);
  const group = broker.group('billing')
  assert.deepEqual([await group.lag(), await group.lagMs()], [1, null])
  await consumer.commit()
  assert.deepEqual([await group.lag(), await group.lagMs()], [0, 0])
})

test('a request fails as the test wants it, once', async () => {
  await using broker = await MemoryBroker.start()
  await broker.createTopic('orders')
  const send = async (idempotent: boolean) => {
    await using producer = new Producer(broker.bootstrapServers, { lingerMs: 0, idempotent, deliveryTimeoutMs: 10_000 })
    await producer.send({ topic: 'orders', value: 'v' })
    return (await broker.records('orders')).length
  }
  broker.faults.next('Produce', { type: 'lose-answer' })
  assert.equal(await send(false), 2, 'sent again by a client that cannot know')
  broker.faults.next('Produce', { type: 'lose-answer' })
  assert.equal(await send(true), 3, 'an idempotent one is recognised')
  broker.faults.next('Produce', { type: 'disconnect' }, 2)
  assert.equal(await send(false), 4, 'nothing was done')
  broker.faults.next('Produce', { type: 'error', error: 'NOT_ENOUGH_REPLICAS' })
  assert.equal(await send(false), 5, 'retried')
  broker.faults.next('Produce', { type: 'error', error: 'TOPIC_AUTHORIZATION_FAILED' })
  await assert.rejects(send(false), /TOPIC_AUTHORIZATION_FAILED/)
  broker.faults.next('Produce', { type: 'delay', ms: 300 })
  const startMs = performance.now()
  assert.equal(await send(false), 6)
  assert.ok(performance.now() - startMs >= 299)
  assert.throws(
    () => broker.faults.next('Prodduce', { type: 'disconnect' }),
    /no API Prodduce is served; there are .*Produce/,
  )
  assert.throws(
    () => broker.faults.next('Metadata', { type: 'error', error: 'NONE' }),
    /Metadata cannot be given an error/,
  )
})

test('a broker is as new after a reset, and refuses one under a running group', async () => {
  await using broker = await MemoryBroker.start()
  await broker.produce('orders', ['a'])
  const consumer = new Consumer(broker.bootstrapServers, { groupId: 'billing', autoOffsetReset: 'earliest' })
  consumer.subscribe(['orders'])
  while ((await consumer.poll(1000)).length === 0);
  await assert.rejects(broker.reset(), /NON_EMPTY_GROUP/)
  assert.deepEqual(values(await broker.records('orders')), ['a'])
  await consumer.close()
  broker.faults.next('Produce', { type: 'disconnect' })
  await broker.reset()
  assert.deepEqual(await broker.records('orders'), [])
  await assert.rejects(broker.group('billing').partitions(), { code: 'GROUP_ID_NOT_FOUND' })
  await broker.produce('orders', ['b'])
  assert.deepEqual(values(await broker.records('orders')), ['b'])
})

test('a week goes by, and retention takes what is older', async () => {
  await using broker = await MemoryBroker.start()
  await broker.createTopic('orders', { configs: { 'retention.ms': '86400000' } })
  await broker.produce('orders', ['old'])
  await broker.clock.advance('7d')
  assert.deepEqual(await broker.records('orders'), [])
})

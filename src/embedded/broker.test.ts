import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '../env/logger.ts'
import { withTempDir } from '../testing/temp-dir.ts'
import { Broker } from './broker.ts'
import { Consumer, Producer } from './client.ts'

test('a broker on disk goes on with what it had, in the same process', () =>
  withTempDir(async (data) => {
    const log = silentLogger
    {
      await using broker = await Broker.start({ data, log, settings: { 'auto.create.topics.enable': 'true' } })
      await using producer = new Producer(broker.bootstrapServers)
      await producer.send({ topic: 'orders', value: 'kept' })
      await assert.rejects(Broker.start({ data, log }), /is used by another process/)
    }
    await using broker = await Broker.start({ data, log })
    await using consumer = new Consumer(broker.bootstrapServers, { autoOffsetReset: 'earliest' })
    consumer.assign([{ topic: 'orders', partition: 0 }])
    const [record] = await consumer.poll(30_000)
    assert.equal(String(record?.value), 'kept')
  }))

test('settings that are wrong are all named', () =>
  withTempDir(async (data) => {
    const settings = { 'num.partitions': '0', 'log.retention.mss': '1' }
    await assert.rejects(Broker.start({ data, settings }), (error: Error) => {
      assert.match(error.message, /num\.partitions/)
      assert.match(error.message, /log\.retention\.ms/)
      return error instanceof RangeError
    })
  }))

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogFields } from '../env/logger.ts'
import { Admin } from './client.ts'
import { MemoryBroker } from './memory-broker.ts'

const HOUR_MS = 3_600_000

/** What the nodes say to their operator. */
class Said {
  readonly lines: { readonly message: string; readonly fields: LogFields }[] = []
  readonly logger = {
    debug() {},
    info: (message: string, fields: LogFields = {}) => void this.lines.push({ message, fields }),
    warn: (message: string, fields: LogFields = {}) => void this.lines.push({ message, fields }),
    error: (message: string, fields: LogFields = {}) => void this.lines.push({ message, fields }),
  }

  of(word: string): LogFields[] {
    return this.lines.filter(({ message }) => message.includes(word)).map(({ fields }) => fields)
  }
}

test('a stopped group is warned of before its records go, and what it lost is known to the record', async () => {
  const said = new Said()
  await using broker = await MemoryBroker.start({ log: said.logger })
  await using admin = new Admin(broker.bootstrapServers)
  await broker.createTopic('orders', { partitions: 1, configs: { 'retention.ms': String(10 * HOUR_MS) } })
  const start = broker.clock.now().getTime()
  await broker.produce(
    'orders',
    Array.from({ length: 20 }, (_, index) => ({ value: `${index}`, timestampMs: start })),
  )
  await admin.groups.commitOffsets('billing', [{ topic: 'orders', partition: 0, offset: 7 }])
  await admin.groups.commitOffsets('level', [{ topic: 'orders', partition: 0, offset: 20 }])

  await broker.clock.advance(8 * HOUR_MS)
  assert.deepEqual(said.of('about to lose'), [])
  await broker.clock.advance(1.5 * HOUR_MS)
  const [warning, ...more] = said.of('about to lose')
  assert.deepEqual(more, [])
  const { group, partitions, records, offset, leftSeconds } = warning ?? {}
  assert.deepEqual([group, partitions, records, offset], ['billing', 1, 13, 7])
  assert.ok(Math.abs(Number(leftSeconds) - 1800) <= 2, `${leftSeconds} s`)
  assert.deepEqual(said.of('deleted that'), [])

  await broker.clock.advance(HOUR_MS)
  const lost = { group: 'billing', topic: 'orders', partition: 0, from: 7, to: 20, records: 13 }
  assert.deepEqual(said.of('deleted that'), [lost])
})

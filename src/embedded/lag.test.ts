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

test('lag in records and in seconds is the truth for every offset that a group can have', async () => {
  await using broker = await MemoryBroker.start()
  await using admin = new Admin(broker.bootstrapServers)
  await broker.createTopic('orders', { partitions: 1 })
  const start = broker.clock.now().getTime() - HOUR_MS
  const times: number[] = []
  for (let batch = 0; batch < 30; batch++) {
    const records = Array.from({ length: 5 }, (_, index) => {
      // Producers' clocks do not agree.
      const timestampMs = start + batch * 60_000 + ((index * 7919) % 3000) - 1500
      times.push(timestampMs)
      return { value: 'x'.repeat(100), timestampMs }
    })
    await broker.produce('orders', records)
  }
  const gone = 37
  await admin.deleteRecords([{ topic: 'orders', partition: 0, offset: gone }])
  for (const offset of [0, 36, 37, 38, 64, 65, 66, 100, 149, 150]) {
    await admin.groups.commitOffsets('g', [{ topic: 'orders', partition: 0, offset }])
    const [lag] = await broker.group('g').partitions()
    const nowMs = broker.clock.now().getTime()
    const first = Math.max(offset, gone)
    assert.equal(lag?.lag, 150 - first)
    const truthMs = first === 150 ? 0 : nowMs - (times[first] as number)
    const lagMs = lag?.known?.lagMs ?? -1
    assert.ok(lagMs <= truthMs && lagMs > truthMs - 1000, `at ${offset}: ${lagMs} for ${truthMs}`)
  }
  // Idle, and level: no record is waiting, however much time goes by.
  await broker.clock.advance(3 * HOUR_MS)
  assert.deepEqual([await broker.group('g').lag(), await broker.group('g').lagMs()], [0, 0])
})

test('a group that falls behind grows, one that catches up says when it will have', async () => {
  await using broker = await MemoryBroker.start()
  await using admin = new Admin(broker.bootstrapServers)
  await broker.createTopic('orders', { partitions: 1 })
  const send = (count: number) =>
    broker.produce(
      'orders',
      Array.from({ length: count }, () => ({ value: 'x', timestampMs: broker.clock.now().getTime() })),
    )
  const commit = (offset: number) => admin.groups.commitOffsets('g', [{ topic: 'orders', partition: 0, offset }])
  const known = async () => (await broker.group('g').partitions())[0]?.known
  await send(100)
  await commit(10)
  assert.equal((await known())?.trend, 'unknown')
  await broker.clock.advance('30s')
  assert.equal((await known())?.trend, 'steady', 'it stands still, and so does the topic')
  await send(60)
  await commit(20)
  assert.equal((await known())?.trend, 'growing')
  await broker.clock.advance('30s')
  await commit(130)
  // 90 behind a minute ago, 30 now.
  const { trend, caughtUpInMs } = (await known()) ?? {}
  assert.equal(trend, 'shrinking')
  assert.ok(Math.abs(Number(caughtUpInMs) - 30_000) < 1500, `${caughtUpInMs} ms`)
  await commit(160)
  assert.equal((await known())?.trend, 'level')
})

test('what a group has lost, and is about to lose, is shown where groups are listed and described', async () => {
  await using broker = await MemoryBroker.start()
  await using admin = new Admin(broker.bootstrapServers)
  await broker.createTopic('orders', { partitions: 2, configs: { 'retention.ms': String(10 * HOUR_MS) } })
  const timestampMs = broker.clock.now().getTime()
  await broker.produce(
    'orders',
    [0, 0, 0, 1].map((partition) => ({ value: 'x', partition, timestampMs })),
  )
  await admin.groups.commitOffsets('late', [{ topic: 'orders', partition: 0, offset: 1 }])
  await admin.groups.commitOffsets('level', [{ topic: 'orders', partition: 0, offset: 3 }])
  assert.deepEqual(await admin.groups.list({ onlyAtRisk: true }), [])
  await broker.clock.advance(9.5 * HOUR_MS)
  const [late, ...others] = await admin.groups.list({ onlyAtRisk: true })
  assert.deepEqual(others, [])
  assert.deepEqual(
    [late?.groupId, late?.risk?.partitions, late?.risk?.records, late?.risk?.lostRecords],
    ['late', 1, 2, 0],
  )
  assert.ok(Math.abs(Number(late?.risk?.leftMs) - 0.5 * HOUR_MS) < 2000, `${late?.risk?.leftMs} ms`)
  const [lag] = await broker.group('late').partitions()
  assert.equal(lag?.known?.isAtRisk, true)
  await broker.clock.advance(HOUR_MS)
  const [described] = await admin.groups.describe(['late'], { lag: true })
  assert.deepEqual(
    described?.lost.map(({ topic, partition, from, to }) => [topic, partition, from, to]),
    [['orders', 0, 1, 3]],
  )
  const [after] = await admin.groups.list({ onlyAtRisk: true })
  assert.deepEqual([after?.risk?.partitions, after?.risk?.leftMs, after?.risk?.lostRecords], [0, null, 2])
})

/** Offsets of a partition: its ends, by time, deleted records. */
import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import type { Context } from '../context.ts'
import { produceTo } from './membership.ts'
import { tell } from './tell.ts'
import { keptForEver, numbered } from './values.ts'

async function ends(context: Context, topic: string, partitions: readonly number[]) {
  const adapter = await context.adapter()
  const { offsets: first } = await adapter.ask('listOffsets', { topic, partitions, at: 'earliest' })
  const { offsets: last } = await adapter.ask('listOffsets', { topic, partitions, at: 'latest' })
  return { first, last }
}

const listOffsets: Case = {
  name: 'list-offsets',
  title: 'first and last offsets',
  needs: ['listOffsets'],
  async run(context) {
    const topic = await context.topic('t')
    const empty = await ends(context, topic, [0])
    await produceTo(context, topic, numbered(7))
    const after = await ends(context, topic, [0])
    assert.equal(after.last[0]?.offset, 7)
    return { empty, after }
  },
}

const listUnknown: Case = {
  name: 'list-offsets-unknown',
  title: 'offsets of a topic that does not exist',
  needs: ['listOffsets'],
  async run(context) {
    const adapter = await context.adapter()
    return tell(() => adapter.ask('listOffsets', { topic: context.name('missing'), partitions: [0], at: 'latest' }))
  },
}

const byTime: Case = {
  name: 'offsets-by-time',
  title: 'the first record of a time or later',
  needs: ['offsetsForTimes', 'timestamps'],
  async run(context) {
    const topic = await context.topic('t', 1, keptForEver)
    const start = 1_700_000_000_000
    // Out of order: the answer is the first record that late, not the record of the smallest such time.
    const times = [0, 5, 3, 9, 9, 20].map((second) => start + second * 1000)
    await produceTo(
      context,
      topic,
      numbered(times.length, (i) => ({ timestamp: times[i] ?? 0 })),
    )
    const timestamps = [0, start, start + 1, start + 4000, start + 5001, start + 9000, start + 20_000, start + 20_001]
    const { offsets } = await (await context.adapter()).ask('offsetsForTimes', { topic, partition: 0, timestamps })
    return offsets.map(({ timestamp, offset }) => ({ timestamp, offset }))
  },
}

const deleteRecords: Case = {
  name: 'delete-records',
  title: 'records before an offset are deleted',
  needs: ['deleteRecords'],
  async run(context) {
    const topic = await context.topic('t')
    await produceTo(context, topic, numbered(10))
    const adapter = await context.adapter()
    const { lowWatermark } = await adapter.ask('deleteRecords', { topic, partition: 0, before: 4 })
    const wanted = { topic, partition: 0, offset: 'earliest', count: 6, timeoutMs: 15_000 } as const
    const { records } = await adapter.ask('consume', wanted)
    return { lowWatermark, read: records.map(({ offset }) => offset) }
  },
}

const deleteBeyond: Case = {
  name: 'delete-records-beyond',
  title: 'deleting records beyond the end',
  needs: ['deleteRecords'],
  async run(context) {
    const topic = await context.topic('t')
    await produceTo(context, topic, numbered(3))
    const adapter = await context.adapter()
    return tell(() => adapter.ask('deleteRecords', { topic, partition: 0, before: 100 }))
  },
}

const consumeLatest: Case = {
  name: 'consume-from',
  title: 'reading from an offset',
  needs: [],
  async run(context) {
    const topic = await context.topic('t')
    await produceTo(context, topic, numbered(10))
    const adapter = await context.adapter()
    const { records } = await adapter.ask('consume', { topic, partition: 0, offset: 6, count: 4, timeoutMs: 15_000 })
    return records.map(({ offset }) => offset)
  },
}

export const offsetCases: readonly Case[] = [
  listOffsets,
  listUnknown,
  byTime,
  consumeLatest,
  deleteRecords,
  deleteBeyond,
]

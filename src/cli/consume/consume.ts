import { type Session, withCluster } from '../connect.ts'
import { Consumer } from '../../client/consumer.ts'
import type { ConsumerRecord } from '../../client/fetched-records.ts'
import { PartitionMap } from '../../client/topic-partitions.ts'
import type { TopicPartition } from '../../model/ids.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { write } from '../output.ts'
import { type OffsetRange, parseOffsetRange } from '../records/offset-range.ts'
import { compileOutputFormat, jsonRecord } from '../records/output-format.ts'
import type { PrintedRecord } from '../records/printed-record.ts'
import { parseCount } from '../topic/settings.ts'
import { giveBack, stopSignal } from '../reading.ts'
import type { ConsumeFlags } from './command.ts'
import { resolveRange } from './range.ts'

/** A wait for records is looked up from so often, to see whether the user wants to stop. */
const POLL_MS = 500

type Print = (record: PrintedRecord, index: number) => string | Buffer

export async function consume(topics: readonly string[], flags: ConsumeFlags): Promise<void> {
  const print = printerOf(flags.format)
  const limit = parseCount('--num', flags.num) ?? Number.POSITIVE_INFINITY
  const range = parseOffsetRange(flags.offset, Date.now())
  if (range === null)
    throw new CommandError(
      ExitCode.usage,
      `--offset ${flags.offset} is not understood: an offset, start, end, @ with a time or -1h, and a range of two as in @-1h:end are`,
    )
  if (isReversed(range)) throw new CommandError(ExitCode.usage, `--offset ${flags.offset} ends before it begins`)
  await withCluster(flags, async (session) => {
    const reader =
      flags.group === undefined
        ? await assigned(session, topics, range, flags)
        : await grouped(session, topics, range, flags)
    const stop = stopSignal()
    try {
      await readOut(reader, { print, limit, stop })
    } finally {
      await reader.consumer.close()
    }
  })
}

interface Reader {
  readonly consumer: Consumer
  /** Partitions with an end, as long as it is not reached. Null: this reader has no end. */
  readonly ends: PartitionMap<number> | null
  /** Where to begin in partitions that do not reach so far yet: records before it were not asked for. */
  readonly starts: PartitionMap<number>
}

function isReversed({ from, until }: OffsetRange): boolean {
  if (from.type === 'exact' && until?.type === 'exact') return until.offset < from.offset
  return from.type === 'time' && until?.type === 'time' && until.timestampMs < from.timestampMs
}

async function assigned(
  { client, admin }: Session,
  topics: readonly string[],
  range: OffsetRange,
  flags: ConsumeFlags,
): Promise<Reader> {
  const wanted = flags.partitions?.split(',').map(Number)
  if (wanted?.some((partition) => !Number.isInteger(partition) || partition < 0)) {
    throw new CommandError(ExitCode.usage, `--partitions ${flags.partitions} is not a list of numbers`)
  }
  const all: TopicPartition[] = (await admin.describeTopics(topics)).flatMap(({ name, partitions }) =>
    partitions.map(({ partition }) => ({ topic: name, partition })),
  )
  const missing = wanted?.find((number) => all.every(({ partition }) => partition !== number))
  if (missing !== undefined) {
    const last = Math.max(...all.map(({ partition }) => partition))
    throw new CommandError(ExitCode.failed, `${topics.join(', ')} has no partition ${missing}, only 0 to ${last}`)
  }
  const chosen = all.filter(({ partition }) => wanted === undefined || wanted.includes(partition))
  const ranges = (await resolveRange(admin, chosen, range)).filter(({ from, until }) => until === null || from < until)
  const consumer = new Consumer(client, {
    autoOffsetReset: 'earliest',
    readCommitted: flags.readCommitted ?? false,
    autoCommit: false,
  })
  consumer.assign(ranges.map(({ topic, partition }) => ({ topic, partition })))
  // A server refuses an offset beyond the end, so what comes before that offset is read and left out.
  for (const partition of ranges) consumer.seek(partition, Math.min(partition.from, partition.end))
  const later = ranges.filter(({ from, end }) => from > end)
  for (const { topic, partition, from, end } of later) {
    process.stderr.write(`millrace: ${topic}-${partition} ends at ${end}; waiting for offset ${from}\n`)
  }
  const starts = new PartitionMap(later.map((partition) => [partition, partition.from]))
  const ends = ranges.map((partition) => [partition, partition.until as number] as const)
  return { consumer, starts, ends: range.until === null ? null : new PartitionMap(ends) }
}

async function grouped(
  { client, admin }: Session,
  topics: readonly string[],
  range: OffsetRange,
  flags: ConsumeFlags,
): Promise<Reader> {
  const isEdge = range.from.type === 'start' || range.from.type === 'end'
  if (!isEdge || range.until !== null || flags.partitions !== undefined) {
    throw new CommandError(
      ExitCode.usage,
      'a group reads on from what it has committed: only -o start and -o end go with -g',
    )
  }
  // A group would wait for topics to appear. Whoever mistyped a name wants to hear it at once.
  await admin.describeTopics(topics)
  const consumer = new Consumer(client, {
    groupId: flags.group as string,
    autoOffsetReset: range.from.type === 'end' ? 'latest' : 'earliest',
    readCommitted: flags.readCommitted ?? false,
  })
  consumer.subscribe(topics)
  return { consumer, starts: new PartitionMap([]), ends: null }
}

async function readOut(
  { consumer, starts, ends }: Reader,
  { print, limit, stop }: { print: Print; limit: number; stop: { readonly isSet: boolean } },
): Promise<void> {
  let count = 0
  while (count < limit && !stop.isSet) {
    if (ends !== null && dropReached(consumer, ends) === 0) return
    const records = await consumer.poll(POLL_MS)
    const chunks: (string | Buffer)[] = []
    let read = 0
    for (const record of records) {
      if (count === limit || stop.isSet) break
      read++
      if (record.offset < (starts.get(record) ?? 0)) continue
      if (record.offset >= (ends?.get(record) ?? Number.POSITIVE_INFINITY)) continue
      chunks.push(print(printed(record), ++count))
    }
    if (chunks.length > 0)
      await write(Buffer.concat(chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk))))
    giveBack(consumer, records.slice(read))
  }
}

/** How many partitions have not reached their end. One that has is not read any more. */
function dropReached(consumer: Consumer, ends: PartitionMap<number>): number {
  for (const [partition, end] of ends.entries()) {
    const position = consumer.position(partition)
    if (position === null || position < end) continue
    consumer.pause([partition])
    ends.delete(partition)
  }
  return ends.size
}

function printed({ batch, ...record }: ConsumerRecord): PrintedRecord {
  return { ...record, ...batch }
}

function printerOf(format: string): Print {
  if (format === 'json') return (record) => `${jsonRecord(record)}\n`
  const compiled = compileOutputFormat(format)
  if (typeof compiled === 'string') throw new CommandError(ExitCode.usage, `--format: ${compiled}`)
  return compiled
}

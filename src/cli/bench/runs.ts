import { randomFillSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Consumer } from '../../client/consumer.ts'
import { Producer } from '../../client/producer.ts'
import type { Session } from '../connect.ts'
import { type BenchResult, type BenchSettings, Latencies, resultOf } from './result.ts'

/** Bytes on their way; over that, the sender waits. */
const IN_FLIGHT_BYTES_MAX = 16 * 1024 ** 2
const IN_FLIGHT_MAX = 50_000
/** Between two looks at how many records are due. */
const TICK_MS = 1
/** Sent in one go before others may run. */
const BURST_MAX = 200
/** The first this many bytes of a value say when it was sent. */
const STAMP_BYTES = 8
const POLL_MS = 200
/** For the last records to come. */
const DRAIN_MS = 10_000

/** Half of it random: batches compress as records of services do, to about a half. */
function payload(bytes: number): Buffer {
  const value = Buffer.alloc(bytes, 0x2e)
  randomFillSync(value, 0, Math.floor(bytes / 2))
  return value
}

/** Sends as fast as the settings say until the time or the number is over; `sent` gets each delivery. */
async function send(
  producer: Producer,
  settings: BenchSettings,
  send: (index: number) => Promise<void>,
): Promise<{ count: number; ms: number }> {
  const { rate, recordsMax, durationMs, valueBytes } = settings
  const inFlightMax = Math.max(1, Math.min(IN_FLIGHT_MAX, Math.floor(IN_FLIGHT_BYTES_MAX / valueBytes)))
  const startMs = performance.now()
  const pending = new Set<Promise<void>>()
  const failure: { error: unknown } = { error: null }
  let count = 0
  for (;;) {
    const passedMs = performance.now() - startMs
    if (passedMs >= durationMs || count >= recordsMax || failure.error !== null) break
    const due = rate === null ? count + BURST_MAX : Math.floor((passedMs / 1000) * rate)
    for (let burst = 0; count < Math.min(due, recordsMax) && burst < BURST_MAX; burst++) {
      const delivery = send(count++).catch((error: unknown) => {
        failure.error ??= error
      })
      pending.add(delivery)
      void delivery.then(() => pending.delete(delivery))
    }
    const [oldest] = pending
    if (pending.size >= inFlightMax) await oldest
    else if (rate !== null && count >= due) await sleep(TICK_MS)
    else await new Promise((resolve) => setImmediate(resolve))
  }
  await producer.flush()
  await Promise.all(pending)
  if (failure.error !== null) throw failure.error
  return { count, ms: performance.now() - startMs }
}

function producerOf({ client }: Session, { acks, compression, lingerMs, batchBytes }: BenchSettings): Producer {
  return new Producer(client, { acks, compression, lingerMs, batchBytes })
}

export async function runProduce(session: Session, settings: BenchSettings): Promise<BenchResult> {
  const producer = producerOf(session, settings)
  const latencies = new Latencies()
  const value = payload(settings.valueBytes)
  try {
    const { count, ms } = await send(producer, settings, async () => {
      const startMs = performance.now()
      await producer.send({ topic: settings.topic, value })
      latencies.add(performance.now() - startMs)
    })
    return resultOf('produce', settings, { records: count, ms, latencies })
  } finally {
    await producer.close()
  }
}

/** Reads what is there from the start. */
export async function runConsume(session: Session, settings: BenchSettings): Promise<BenchResult> {
  const consumer = new Consumer(session.client, {
    autoOffsetReset: 'earliest',
    autoCommit: false,
    maxPollRecords: 10_000,
  })
  try {
    const ends = await assignAll(session, consumer, settings.topic, 'earliest')
    const startMs = performance.now()
    let [count, bytes] = [0, 0]
    while (count < Math.min(ends, settings.recordsMax) && performance.now() - startMs < settings.durationMs) {
      for (const { value } of await consumer.poll(POLL_MS)) {
        count++
        bytes += value?.length ?? 0
      }
    }
    const ms = performance.now() - startMs
    const valueBytes = count === 0 ? settings.valueBytes : Math.round(bytes / count)
    return resultOf('consume', { ...settings, valueBytes }, { records: count, ms, latencies: null })
  } finally {
    await consumer.close()
  }
}

/** Returns how many records there are. */
async function assignAll(
  { admin }: Session,
  consumer: Consumer,
  topic: string,
  from: 'earliest' | 'latest',
): Promise<number> {
  const [described] = await admin.describeTopics([topic])
  const partitions = (described?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
  const at = (at: 'earliest' | 'latest') => admin.listOffsets(partitions.map((one) => ({ ...one, at })))
  const [starts, ends] = await Promise.all([at('earliest'), at('latest')])
  consumer.assign(partitions)
  const chosen = from === 'earliest' ? starts : ends
  for (const one of partitions) consumer.seek(one, chosen.get(one)?.offset ?? 0)
  return partitions.reduce((sum, one) => sum + (ends.get(one)?.offset ?? 0) - (starts.get(one)?.offset ?? 0), 0)
}

/** Each record carries when it was sent; sender and reader are one process, with one clock. */
export async function runEndToEnd(session: Session, settings: BenchSettings): Promise<BenchResult> {
  const producer = producerOf(session, settings)
  const consumer = new Consumer(session.client, {
    autoOffsetReset: 'latest',
    autoCommit: false,
    maxPollRecords: 10_000,
  })
  const latencies = new Latencies()
  const run = { sent: Number.POSITIVE_INFINITY, received: 0, giveUpMs: Number.POSITIVE_INFINITY }
  try {
    await assignAll(session, consumer, settings.topic, 'latest')
    const reading = receiveAll(consumer, latencies, run)
    const { count, ms } = await send(producer, settings, async () => {
      const value = payload(Math.max(STAMP_BYTES, settings.valueBytes))
      value.writeDoubleLE(performance.now())
      await producer.send({ topic: settings.topic, value })
    })
    run.sent = count
    run.giveUpMs = performance.now() + DRAIN_MS
    await reading
    return resultOf('e2e', settings, { records: run.received, ms, latencies })
  } finally {
    await Promise.all([producer.close(), consumer.close()])
  }
}

async function receiveAll(
  consumer: Consumer,
  latencies: Latencies,
  run: { sent: number; received: number; giveUpMs: number },
): Promise<void> {
  while (run.received < run.sent && performance.now() < run.giveUpMs) {
    const records = await consumer.poll(POLL_MS)
    const nowMs = performance.now()
    for (const { value } of records) {
      if (value === null || value.length < STAMP_BYTES) continue
      run.received++
      latencies.add(nowMs - value.readDoubleLE())
    }
  }
}

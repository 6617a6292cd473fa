import { ByteWriter } from '../../src/base/bytes.ts'
import { readBatches, type WireRecord } from './wire-batch.ts'
import { getArray, getString, putString, type Wire } from './wire.ts'

/** The server answered with an error code. */
export class WireError extends Error {
  override name = 'WireError'
  readonly code: number

  constructor(call: string, code: number) {
    super(`${call}: error ${code}`)
    this.code = code
  }
}

function check(call: string, code: number): void {
  if (code !== 0) throw new WireError(call, code)
}

function body(fill: (writer: ByteWriter) => void): ByteWriter {
  const writer = new ByteWriter()
  fill(writer)
  return writer
}

/** ApiVersions v0: key to [min, max]. */
export async function apiVersions(wire: Wire): Promise<Map<number, [number, number]>> {
  const reader = await wire.request(18, 0, new ByteWriter())
  check('ApiVersions', reader.int16())
  return new Map(getArray(reader, () => [reader.int16(), [reader.int16(), reader.int16()]]))
}

export interface WireTopic {
  readonly errorCode: number
  readonly name: string
  readonly partitions: WirePartition[]
}

export interface WirePartition {
  readonly errorCode: number
  readonly partition: number
  /** -1 while there is none. */
  readonly leader: number
  readonly replicas: readonly number[]
  readonly isr: readonly number[]
}

/** Metadata v1 of these topics, never creating them (asked with v4). */
export async function metadata(
  wire: Wire,
  topics: readonly string[],
): Promise<{ brokers: { id: number; host: string; port: number }[]; controller: number; topics: WireTopic[] }> {
  const reader = await wire.request(
    3,
    4,
    body((w) => {
      w.int32(topics.length)
      for (const topic of topics) putString(w, topic)
      w.int8(0)
    }),
  )
  reader.int32() // throttle time
  const brokers = getArray(reader, () => {
    const broker = { id: reader.int32(), host: getString(reader), port: reader.int32() }
    getString(reader) // rack
    return broker
  })
  getString(reader) // cluster id
  const controller = reader.int32()
  const found = getArray(reader, () => {
    const errorCode = reader.int16()
    const name = getString(reader)
    reader.int8() // internal
    const partitions = getArray(reader, () => {
      return {
        errorCode: reader.int16(),
        partition: reader.int32(),
        leader: reader.int32(),
        replicas: getArray(reader, () => reader.int32()),
        isr: getArray(reader, () => reader.int32()),
      }
    })
    return { errorCode, name, partitions }
  })
  return { brokers, controller, topics: found }
}

/** CreateTopics v2. Already there is fine. */
export async function createTopic(
  wire: Wire,
  topic: string,
  partitions: number,
  configs: Readonly<Record<string, string>> = {},
  replicationFactor = 1,
): Promise<void> {
  const reader = await wire.request(
    19,
    2,
    body((w) => {
      w.int32(1)
      putString(w, topic)
      w.int32(partitions)
      w.int16(replicationFactor)
      w.int32(0)
      const entries = Object.entries(configs)
      w.int32(entries.length)
      for (const [name, value] of entries) {
        putString(w, name)
        putString(w, value)
      }
      w.int32(30_000)
      w.int8(0)
    }),
  )
  reader.int32()
  getArray(reader, () => {
    const name = getString(reader)
    const code = reader.int16()
    const message = getString(reader)
    if (code !== 0 && code !== 36) throw new WireError(`CreateTopics ${name} (${message})`, code)
  })
}

export interface ProduceAnswer {
  readonly errorCode: number
  readonly baseOffset: number
}

/** Produce v7 of one batch. */
export async function produce(
  wire: Wire,
  { topic, partition, batch, acks = -1 }: { topic: string; partition: number; batch: Buffer; acks?: number },
): Promise<ProduceAnswer> {
  const request = body((w) => {
    putString(w, null)
    w.int16(acks)
    w.int32(30_000)
    w.int32(1)
    putString(w, topic)
    w.int32(1)
    w.int32(partition)
    w.int32(batch.length)
    w.bytes(batch)
  })
  if (acks === 0) {
    wire.send(0, 7, request)
    return { errorCode: 0, baseOffset: -1 }
  }
  const reader = await wire.request(0, 7, request)
  const answers = getArray(reader, () => {
    getString(reader)
    return getArray(reader, () => {
      reader.int32()
      const answer = { errorCode: reader.int16(), baseOffset: reader.int64() }
      reader.int64() // log append time
      reader.int64() // log start offset
      return answer
    })
  }).flat()
  const answer = answers[0]
  if (answer === undefined) throw new Error('Produce: no partition in the answer')
  return answer
}

/** Fetch v4 from one partition, uncompressed records only. */
export async function fetch(
  wire: Wire,
  {
    topic,
    partition,
    offset,
    maxBytes = 4 << 20,
    maxWaitMs = 0,
    minBytes = 1,
  }: {
    topic: string
    partition: number
    offset: number
    maxBytes?: number
    maxWaitMs?: number
    minBytes?: number
  },
): Promise<{ highWatermark: number; records: WireRecord[]; nextOffset: number; bytes: number }> {
  const reader = await wire.request(
    1,
    4,
    body((w) => {
      w.int32(-1)
      w.int32(maxWaitMs)
      w.int32(minBytes)
      w.int32(maxBytes)
      w.int8(0)
      w.int32(1)
      putString(w, topic)
      w.int32(1)
      w.int32(partition)
      w.int64(offset)
      w.int32(maxBytes)
    }),
  )
  reader.int32()
  const answers = getArray(reader, () => {
    getString(reader)
    return getArray(reader, () => {
      reader.int32()
      check(`Fetch ${topic}-${partition} at ${offset}`, reader.int16())
      const highWatermark = reader.int64()
      reader.int64() // last stable offset
      getArray(reader, () => reader.skip(16)) // aborted transactions
      const length = reader.int32()
      const bytes = length < 0 ? Buffer.alloc(0) : reader.bytes(length)
      const { records, nextOffset } = readBatches(bytes)
      return {
        highWatermark,
        records: records.filter((record) => record.offset >= offset),
        nextOffset: nextOffset < 0 ? offset : nextOffset,
        bytes: bytes.length,
      }
    })
  }).flat()
  const answer = answers[0]
  if (answer === undefined) throw new Error('Fetch: no partition in the answer')
  return answer
}

/** ListOffsets v1; -1 is the end, -2 the start. */
export async function listOffset(
  wire: Wire,
  { topic, partition, timestamp }: { topic: string; partition: number; timestamp: number },
): Promise<number> {
  const reader = await wire.request(
    2,
    1,
    body((w) => {
      w.int32(-1)
      w.int32(1)
      putString(w, topic)
      w.int32(1)
      w.int32(partition)
      w.int64(timestamp)
    }),
  )
  const answers = getArray(reader, () => {
    getString(reader)
    return getArray(reader, () => {
      reader.int32()
      check(`ListOffsets ${topic}-${partition}`, reader.int16())
      reader.int64()
      return reader.int64()
    })
  }).flat()
  return answers[0] ?? -1
}

/** InitProducerId v0 without a transactional id. */
export async function initProducerId(wire: Wire): Promise<{ producerId: number; producerEpoch: number }> {
  const reader = await wire.request(
    22,
    0,
    body((w) => {
      putString(w, null)
      w.int32(60_000)
    }),
  )
  reader.int32()
  check('InitProducerId', reader.int16())
  return { producerId: reader.int64(), producerEpoch: reader.int16() }
}

/** OffsetCommit v2 from outside the group protocol. */
export async function commitOffset(
  wire: Wire,
  { group, topic, partition, offset }: { group: string; topic: string; partition: number; offset: number },
): Promise<void> {
  const reader = await wire.request(
    8,
    2,
    body((w) => {
      putString(w, group)
      w.int32(-1)
      putString(w, '')
      w.int64(-1)
      w.int32(1)
      putString(w, topic)
      w.int32(1)
      w.int32(partition)
      w.int64(offset)
      putString(w, '')
    }),
  )
  getArray(reader, () => {
    getString(reader)
    getArray(reader, () => {
      reader.int32()
      check('OffsetCommit', reader.int16())
    })
  })
}

/** OffsetFetch v1; -1 when the group has committed nothing. */
export async function committedOffset(
  wire: Wire,
  { group, topic, partition }: { group: string; topic: string; partition: number },
): Promise<number> {
  const reader = await wire.request(
    9,
    1,
    body((w) => {
      putString(w, group)
      w.int32(1)
      putString(w, topic)
      w.int32(1)
      w.int32(partition)
    }),
  )
  const answers = getArray(reader, () => {
    getString(reader)
    return getArray(reader, () => {
      reader.int32()
      const offset = reader.int64()
      getString(reader)
      check('OffsetFetch', reader.int16())
      return offset
    })
  }).flat()
  return answers[0] ?? -1
}

/** FindCoordinator v0: the node; fails with a temporary error while there is none. */
export async function findCoordinator(wire: Wire, group: string): Promise<number> {
  const reader = await wire.request(
    10,
    0,
    body((w) => putString(w, group)),
  )
  check('FindCoordinator', reader.int16())
  return reader.int32()
}

/** DeleteTopics v1. */
export async function deleteTopic(wire: Wire, topic: string): Promise<void> {
  const reader = await wire.request(
    20,
    1,
    body((w) => {
      w.int32(1)
      putString(w, topic)
      w.int32(30_000)
    }),
  )
  reader.int32()
  getArray(reader, () => check(`DeleteTopics ${getString(reader)}`, reader.int16()))
}

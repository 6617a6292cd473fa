import kafkajs, { type Consumer, type IHeaders, type Kafka, type KafkaMessage, type Message } from 'kafkajs'
import type { Bytes, Codec, Failure, RecordIn, RecordOut, TopicPartitionName } from '../../protocol.ts'
import { base64Of, bytesOf, type Handlers, Inbox } from './serve.ts'

const { CompressionTypes } = kafkajs
const compressions: Readonly<Record<Codec, kafkajs.CompressionTypes>> = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

function headersToSend(headers: RecordIn['headers']): IHeaders {
  const byName = Object.groupBy(headers, ([name]) => name)
  const values = (found: RecordIn['headers'] = []) => found.map(([, bytes]) => bytesOf(bytes) ?? Buffer.alloc(0))
  return Object.fromEntries(
    Object.entries(byName).map(([name, found]) => {
      const all = values(found)
      return [name, all.length === 1 ? all[0] : all]
    }),
  )
}

function toSend({ key, value, headers, partition, timestamp }: RecordIn): Message {
  return {
    key: bytesOf(key),
    value: bytesOf(value),
    headers: headersToSend(headers),
    ...(partition === undefined ? {} : { partition }),
    ...(timestamp === undefined ? {} : { timestamp: String(timestamp) }),
  }
}

function received(partition: number, { offset, timestamp, key, value, headers = {} }: KafkaMessage): RecordOut {
  const pairs = Object.entries(headers).flatMap(([name, found]): [string, Bytes][] => {
    const values = Array.isArray(found) ? found : [found]
    return values.map((each) => [name, base64Of(typeof each === 'string' ? Buffer.from(each) : each)])
  })
  return {
    partition,
    offset: Number(offset),
    timestamp: Number(timestamp),
    key: base64Of(key),
    value: base64Of(value),
    headers: pairs,
  }
}

/** A consumer whose records wait until they are asked for. */
class Reader {
  readonly consumer: Consumer
  readonly inbox = new Inbox<RecordOut & { topic: string }>()
  assignment: TopicPartitionName[] = []

  constructor(consumer: Consumer) {
    this.consumer = consumer
    consumer.on('consumer.group_join', ({ payload: { memberAssignment } }) => {
      this.assignment = Object.entries(memberAssignment).flatMap(([topic, partitions]) =>
        partitions.map((partition) => ({ topic, partition })),
      )
    })
    consumer.on('consumer.rebalancing', () => (this.assignment = []))
    consumer.on('consumer.crash', ({ payload: { error, restart } }) => {
      if (!restart) this.inbox.fail(error)
    })
  }

  async run(topics: string[], fromBeginning: boolean): Promise<void> {
    await this.consumer.connect()
    await this.consumer.subscribe({ topics, fromBeginning })
    await this.consumer.run({
      autoCommit: false,
      eachMessage: async ({ topic, partition, message }) => {
        this.inbox.put({ topic, ...received(partition, message) })
      },
    })
  }
}

let readers = 0

export function recordHandlers(kafka: Kafka, failureOf: (error: unknown) => Failure | null): Handlers {
  let member: Reader | null = null
  const read = new Map<string, { topic: string; partition: number; offset: string }>()
  const mine = () => {
    if (member === null) throw new Error('no subscribe before')
    return member
  }
  return {
    async produce({ topic, records, codec, acks, idempotent }) {
      const producer = kafka.producer({ idempotent, ...(idempotent ? { maxInFlightRequests: 1 } : {}) })
      await producer.connect()
      try {
        const sent = await producer.send({
          topic,
          acks: acks === 'all' ? -1 : Number(acks),
          compression: compressions[codec],
          messages: records.map(toSend),
        })
        // It tells the first offset of each partition only, and nothing with acks=0.
        const [only] = sent
        const first = sent.length === 1 && only?.baseOffset !== undefined ? Number(only.baseOffset) : null
        const answers = records.map((_, i) => ({
          partition: only?.partition ?? -1,
          offset: first === null ? -1 : first + i,
          error: null,
        }))
        return { records: answers }
      } catch (error) {
        const failure = failureOf(error)
        if (failure === null) throw error
        return { records: records.map(() => ({ partition: -1, offset: -1, error: failure })) }
      } finally {
        await producer.disconnect()
      }
    },

    /** It reads in groups only. */
    async consume({ topic, partition, offset, count, timeoutMs }) {
      const groupId = `reader-${process.pid}-${readers++}`
      const reader = new Reader(kafka.consumer({ groupId, maxWaitTimeInMs: 200 }))
      await reader.run([topic], offset !== 'latest')
      if (typeof offset === 'number') reader.consumer.seek({ topic, partition, offset: String(offset) })
      const records: RecordOut[] = []
      const deadline = performance.now() + timeoutMs
      while (records.length < count && performance.now() < deadline) {
        const found = await reader.inbox.take(10_000, 500)
        records.push(...found.filter((one) => one.partition === partition).map(({ topic: _, ...one }) => one))
      }
      await reader.consumer.disconnect()
      return { records: records.filter((one) => typeof offset !== 'number' || one.offset >= offset).slice(0, count) }
    },

    async subscribe({ group, topics, reset, sessionTimeoutMs }) {
      const heartbeatInterval = Math.min(500, sessionTimeoutMs / 3)
      const options = { groupId: group, sessionTimeout: sessionTimeoutMs, heartbeatInterval, maxWaitTimeInMs: 200 }
      member = new Reader(kafka.consumer(options))
      await member.run([...topics], reset === 'earliest')
      return {}
    },

    async poll({ forMs, max }) {
      const found = await mine().inbox.take(max, forMs)
      for (const { topic, partition, offset } of found) {
        read.set(`${topic}-${partition}`, { topic, partition, offset: String(offset + 1) })
      }
      return { records: found.map(({ topic: _, ...one }) => one), assignment: mine().assignment }
    },

    async commit() {
      const owned = new Set(mine().assignment.map(({ topic, partition }) => `${topic}-${partition}`))
      const offsets = [...read].filter(([place]) => owned.has(place)).map(([, offset]) => offset)
      await mine().consumer.commitOffsets(offsets)
      return {}
    },

    async close() {
      await mine().consumer.disconnect()
      return {}
    },
  }
}

import { type BaseOptions, Consumer, type Message, type MessagesStream, Producer } from '@platformatic/kafka'
import type { Command, Failure, RecordIn, RecordOut, TopicPartitionName } from '../../protocol.ts'
import { base64Of, bytesOf, type Handlers, Inbox } from './serve.ts'

function toSend(topic: string, { key, value, headers, partition, timestamp }: RecordIn) {
  // A key of a Map may be there twice when it is another Buffer; null is what its writer takes for no bytes.
  const pairs = headers.map(([name, bytes]) => [Buffer.from(name), bytesOf(bytes)] as [Buffer, Buffer])
  return {
    topic,
    key: bytesOf(key) as Buffer,
    value: bytesOf(value) as Buffer,
    headers: new Map(pairs),
    ...(partition === undefined ? {} : { partition }),
    ...(timestamp === undefined ? {} : { timestamp: BigInt(timestamp) }),
  }
}

function received({ partition, offset, timestamp, key, value, headerEntries }: Message): RecordOut {
  return {
    partition,
    offset: Number(offset),
    timestamp: Number(timestamp),
    key: base64Of(key),
    value: base64Of(value),
    headers: headerEntries.map(([name, bytes]) => [String(name), base64Of(bytes)]),
  }
}

/** A consumer whose records wait until they are asked for. */
class Reader {
  readonly consumer: Consumer
  readonly inbox = new Inbox<RecordOut & { topic: string }>()

  constructor(consumer: Consumer) {
    this.consumer = consumer
  }

  take(stream: MessagesStream<Buffer, Buffer, Buffer, Buffer>): void {
    stream.on('data', (message) => this.inbox.put({ topic: message.topic, ...received(message) }))
    stream.on('error', (error) => this.inbox.fail(error))
  }

  get assignment(): TopicPartitionName[] {
    return (this.consumer.assignments ?? []).flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ topic, partition })),
    )
  }
}

let readers = 0

export function recordHandlers(options: BaseOptions, failureOf: (error: unknown) => Failure | null): Handlers {
  let member: Reader | null = null
  const read = new Map<string, { topic: string; partition: number; offset: bigint; leaderEpoch: number }>()
  const mine = () => {
    if (member === null) throw new Error('no subscribe before')
    return member
  }

  async function produce({ topic, records, codec, acks, idempotent }: Command<'produce'>) {
    const producer = new Producer({ ...options, idempotent, autocreateTopics: false })
    try {
      const { offsets = [] } = await producer.send({
        messages: records.map((one) => toSend(topic, one)),
        acks: acks === 'all' ? -1 : Number(acks),
        compression: codec,
      })
      // It tells the first offset of each partition only, and nothing with acks=0.
      const [only] = offsets
      const first = offsets.length === 1 && only !== undefined ? Number(only.offset) : null
      return records.map((_, i) => ({
        partition: only?.partition ?? -1,
        offset: first === null ? -1 : first + i,
        error: null,
      }))
    } catch (error) {
      const failure = failureOf(error)
      if (failure === null) throw error
      return records.map(() => ({ partition: -1, offset: -1, error: failure }))
    } finally {
      await producer.close()
    }
  }

  return {
    produce: async (command) => ({ records: await produce(command) }),

    /** It reads in groups only. */
    async consume({ topic, partition, offset, count, timeoutMs }) {
      const reader = new Reader(new Consumer({ ...options, groupId: `reader-${process.pid}-${readers++}` }))
      const offsets = [{ topic, partition, offset: BigInt(typeof offset === 'number' ? offset : 0) }]
      const from = typeof offset === 'number' ? ({ mode: 'manual', offsets } as const) : ({ mode: offset } as const)
      const stream = await reader.consumer.consume({ topics: [topic], autocommit: false, maxWaitTime: 200, ...from })
      reader.take(stream)
      const records: RecordOut[] = []
      const deadline = performance.now() + timeoutMs
      while (records.length < count && performance.now() < deadline) {
        const found = await reader.inbox.take(10_000, 500)
        records.push(...found.filter((one) => one.partition === partition).map(({ topic: _, ...one }) => one))
      }
      await stream.close()
      await reader.consumer.close(true)
      return { records: records.slice(0, count) }
    },

    async subscribe({ group, topics, reset, protocol, instanceId, sessionTimeoutMs }) {
      const instance = instanceId === undefined ? {} : { groupInstanceId: instanceId }
      const classic = { sessionTimeout: sessionTimeoutMs, heartbeatInterval: Math.min(500, sessionTimeoutMs / 3) }
      const consumer = new Consumer({
        ...options,
        ...instance,
        groupId: group,
        maxWaitTime: 200,
        autocommit: false,
        ...(protocol === 'consumer'
          ? { groupProtocol: 'consumer' }
          : { ...classic, rebalanceTimeout: sessionTimeoutMs }),
      })
      const reader = new Reader(consumer)
      member = reader
      // Its promise waits for the first rebalance, but the command is to return at once.
      consumer.consume({ topics: [...topics], mode: 'committed', fallbackMode: reset }).then(
        (stream) => reader.take(stream),
        (error: Error) => reader.inbox.fail(error),
      )
      return {}
    },

    async poll({ forMs, max }) {
      const found = await mine().inbox.take(max, forMs)
      for (const { topic, partition, offset } of found) {
        read.set(`${topic}-${partition}`, { topic, partition, offset: BigInt(offset + 1), leaderEpoch: -1 })
      }
      return { records: found.map(({ topic: _, ...one }) => one), assignment: mine().assignment }
    },

    async commit() {
      const owned = new Set(mine().assignment.map(({ topic, partition }) => `${topic}-${partition}`))
      const offsets = [...read].filter(([place]) => owned.has(place)).map(([, offset]) => offset)
      if (offsets.length > 0) await mine().consumer.commit({ offsets })
      return {}
    },

    async close() {
      await mine().consumer.close(true)
      return {}
    },
  }
}

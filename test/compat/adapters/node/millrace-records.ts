import { Consumer, type ConsumerRecord, Producer, type ProducerRecord } from '../../../../src/embedded/client.ts'
import type { Failure, RecordIn, RecordOut } from '../../protocol.ts'
import { base64Of, bytesOf, type Handlers } from './serve.ts'

function toSend(topic: string, { key, value, headers, partition, timestamp }: RecordIn): ProducerRecord {
  return {
    topic,
    key: bytesOf(key),
    value: bytesOf(value),
    headers: headers.map(([name, bytes]) => ({ key: name, value: bytesOf(bytes) })),
    ...(partition === undefined ? {} : { partition }),
    ...(timestamp === undefined ? {} : { timestampMs: timestamp }),
  }
}

function received({ partition, offset, timestampMs, batch, key, value, headers }: ConsumerRecord): RecordOut {
  return {
    partition,
    offset,
    timestamp: timestampMs,
    timestampType: (batch.attributes & 8) !== 0 ? 'append' : 'create',
    key: base64Of(key),
    value: base64Of(value),
    headers: headers.map((header) => [header.key, base64Of(header.value)] as const),
  }
}

export function recordHandlers(bootstrap: string, failureOf: (error: unknown) => Failure | null): Handlers {
  let consumer: Consumer | null = null
  const member = () => {
    if (consumer === null) throw new Error('no subscribe before')
    return consumer
  }
  return {
    async produce({ topic, records, codec, acks, idempotent, maxBytes }) {
      await using producer = new Producer(bootstrap, {
        acks: acks === 'all' ? 'all' : (Number(acks) as 0 | 1),
        idempotent,
        compression: codec,
        deliveryTimeoutMs: 10_000,
        ...(maxBytes === undefined ? {} : { maxRequestBytes: maxBytes }),
      })
      const sent = records.map((one) =>
        producer.send(toSend(topic, one)).then(
          ({ partition, offset }) => ({ partition, offset, error: null }),
          (error: unknown) => {
            const failure = failureOf(error)
            if (failure === null) throw error
            return { partition: one.partition ?? -1, offset: -1, error: failure }
          },
        ),
      )
      return { records: await Promise.all(sent) }
    },

    async consume({ topic, partition, offset, count, timeoutMs }) {
      await using reader = new Consumer(bootstrap)
      reader.assign([{ topic, partition }])
      reader.seek({ topic, partition }, offset)
      const records: RecordOut[] = []
      const deadline = performance.now() + timeoutMs
      while (records.length < count && performance.now() < deadline) {
        records.push(...(await reader.poll(500)).map(received))
      }
      return { records: records.slice(0, count) }
    },

    async subscribe({ group, topics, reset, instanceId, sessionTimeoutMs }) {
      consumer = new Consumer(bootstrap, {
        groupId: group,
        autoOffsetReset: reset,
        autoCommit: false,
        sessionTimeoutMs,
        heartbeatIntervalMs: Math.min(500, sessionTimeoutMs / 3),
        ...(instanceId === undefined ? {} : { groupInstanceId: instanceId }),
      })
      consumer.subscribe(topics)
      return {}
    },

    async poll({ forMs }) {
      const records = await member().poll(forMs)
      const assignment = member().assignment.map(({ topic, partition }) => ({ topic, partition }))
      return { records: records.map(received), assignment }
    },

    async commit() {
      await member().commit()
      return {}
    },

    async close() {
      await member().close()
      return {}
    },
  }
}

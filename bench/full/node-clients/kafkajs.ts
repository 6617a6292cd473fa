import { Kafka, logLevel } from 'kafkajs'
import { inWindow, type NodeClient } from './task.ts'

/** Records of one `send`: it makes one batch for each partition of them. */
const RECORDS_PER_SEND = 100

function connection(address: string): Kafka {
  return new Kafka({ brokers: [address], logLevel: logLevel.NOTHING })
}

export const kafkajs: NodeClient = {
  async produce({ address, topic, value, warmUpRecords, records }, between) {
    const producer = connection(address).producer({ idempotent: false })
    await producer.connect()
    const messages = Array.from({ length: RECORDS_PER_SEND }, () => ({ value }))
    const send = () => producer.send({ topic, acks: -1, messages })
    await inWindow(warmUpRecords, RECORDS_PER_SEND, send)
    between()
    await inWindow(records, RECORDS_PER_SEND, send)
    await producer.disconnect()
  },

  async consume({ address, topic, records }, first) {
    const consumer = connection(address).consumer({ groupId: `bench-${process.pid}` })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    let read = 0
    await new Promise<void>((resolve, reject) => {
      const eachBatch = async ({ batch }: { batch: { messages: unknown[] } }) => {
        if (read === 0) first()
        read += batch.messages.length
        if (read >= records) resolve()
      }
      consumer.run({ eachBatch }).catch(reject)
    })
  },
}

import { Consumer, MessagesStreamModes, Producer } from '@platformatic/kafka'
import { inWindow, type NodeClient } from './task.ts'

const RECORDS_PER_SEND = 100

function connection(address: string) {
  return { clientId: 'bench', bootstrapBrokers: [address] }
}

export const platformatic: NodeClient = {
  async produce({ address, topic, value, warmUpRecords, records }, between) {
    const producer = new Producer({ ...connection(address), acks: -1 })
    const messages = Array.from({ length: RECORDS_PER_SEND }, () => ({ topic, value }))
    const send = () => producer.send({ messages })
    await inWindow(warmUpRecords, RECORDS_PER_SEND, send)
    between()
    await inWindow(records, RECORDS_PER_SEND, send)
    await producer.close()
  },

  async consume({ address, topic, records }, first) {
    const consumer = new Consumer({ ...connection(address), groupId: `bench-${process.pid}`, maxWaitTime: 500 })
    const stream = await consumer.consume({ topics: [topic], mode: MessagesStreamModes.EARLIEST, autocommit: true })
    let read = 0
    for await (const _ of stream) {
      if (read === 0) first()
      if (++read >= records) break
    }
  },
}

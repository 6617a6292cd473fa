import { Consumer, Producer } from '../../../src/embedded/client.ts'
import { inWindow, type NodeClient } from './task.ts'

export const millrace: NodeClient = {
  async produce({ address, topic, value, warmUpRecords, records }, between) {
    await using producer = new Producer(address)
    const send = () => producer.send({ topic, value })
    await inWindow(warmUpRecords, 1, send)
    between()
    await inWindow(records, 1, send)
  },

  async consume({ address, topic, records }, first) {
    await using consumer = new Consumer(address, { groupId: `bench-${process.pid}`, autoOffsetReset: 'earliest' })
    consumer.subscribe([topic])
    for (let read = 0; read < records; ) {
      const batch = await consumer.poll(1000)
      if (read === 0 && batch.length > 0) first()
      read += batch.length
    }
  },
}

/** One member of a group, by kafkajs: `kafkajs-member.ts ADDRESSES GROUP TOPIC`. See members.ts for what it prints. */
import { writeSync } from 'node:fs'
import kafkajs from 'kafkajs'
import { addCodecs } from '../support/kafkajs-codecs.ts'

const [addresses = '', groupId = '', topic = ''] = process.argv.slice(2)

addCodecs()

const kafka = new kafkajs.Kafka({
  clientId: 'rows',
  brokers: addresses.split(','),
  logLevel: kafkajs.logLevel.ERROR,
  retry: { retries: 20 },
})
const consumer = kafka.consumer({
  groupId,
  sessionTimeout: 6000,
  heartbeatInterval: 1000,
  maxBytesPerPartition: 8192,
  maxWaitTimeInMs: 200,
  retry: { retries: 20 },
})
process.once('SIGTERM', () => {
  void consumer.disconnect().then(() => process.exit(0))
})
await consumer.connect()
await consumer.subscribe({ topic, fromBeginning: true })
await consumer.run({
  autoCommitInterval: 500,
  eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale, commitOffsetsIfNecessary }) => {
    for (const { offset, key, value } of batch.messages) {
      if (!isRunning() || isStale()) break
      writeSync(
        1,
        `Partition:${batch.partition}\tOffset:${offset}\t${key?.toString() ?? 'null'}\t${value?.toString()}\n`,
      )
      resolveOffset(offset)
    }
    await commitOffsetsIfNecessary()
    await heartbeat()
  },
})

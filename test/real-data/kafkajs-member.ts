/** One member of a group, by kafkajs: `kafkajs-member.ts ADDRESSES GROUP TOPIC`. See members.ts for what it prints. */
import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'

const [addresses = '', groupId = '', topic = ''] = process.argv.slice(2)
const require = createRequire(import.meta.url)

// kafkajs itself decodes only gzip; the other codecs are plugged in as its users do.
const { CompressionCodecs, CompressionTypes } = kafkajs
const { uncompressSync } = require('snappy') as typeof import('snappy')
const { zstdDecompressSync } = require('node:zlib') as typeof import('node:zlib')
CompressionCodecs[CompressionTypes.Snappy] = () => ({
  compress: () => Promise.reject(new Error('not needed')),
  decompress: (bytes: Buffer) => Promise.resolve(uncompressXerial(bytes)),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: () => Promise.reject(new Error('not needed')),
  decompress: (bytes: Buffer) => Promise.resolve(zstdDecompressSync(bytes)),
})

/** Java clients wrap snappy blocks in frames of their own; librdkafka sends a raw block. */
function uncompressXerial(bytes: Buffer): Buffer {
  if (bytes.subarray(1, 7).toString('latin1') !== 'SNAPPY') return Buffer.from(uncompressSync(bytes))
  const blocks: Buffer[] = []
  for (let at = 16; at < bytes.length; ) {
    const length = bytes.readInt32BE(at)
    blocks.push(Buffer.from(uncompressSync(bytes.subarray(at + 4, at + 4 + length))))
    at += 4 + length
  }
  return Buffer.concat(blocks)
}

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

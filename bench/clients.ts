import { runTool } from '../test/support/kafka-oracle.ts'

export const recordBytes = 1024

/** One GB, 10^9 bytes, of values. */
export const recordsPerGb = Math.ceil(1e9 / recordBytes)

export interface Transfer {
  readonly records: number
  /** 10^6 bytes of values a second, by the client's own clock. */
  readonly megabytesPerSecond: number
}

/** Kafka's own producer benchmark. The first third warms the client up and does not count in the rate. */
export async function produceWithJava(address: string, topic: string, records: number): Promise<Transfer> {
  const { code, stdout, stderr } = await runTool('producer-perf-test', [
    '--bootstrap-server',
    address,
    '--topic',
    topic,
    '--num-records',
    String(records),
    '--warmup-records',
    String(Math.floor(records / 3)),
    '--record-size',
    String(recordBytes),
    '--throughput',
    '-1',
    '--command-property',
    'acks=all',
    'batch.size=131072',
    'linger.ms=5',
    'buffer.memory=67108864',
    'compression.type=none',
  ])
  const [, perSecond] = [...stdout.matchAll(/records sent, ([\d.]+) records\/sec/g)].at(-1) ?? []
  if (code !== 0 || perSecond === undefined) throw new Error(`producer-perf-test failed:\n${stdout}${stderr}`)
  return { records, megabytesPerSecond: (Number(perSecond) * recordBytes) / 1e6 }
}

/** Kafka's own consumer benchmark, from the beginning of the topic. */
export async function consumeWithJava(address: string, topic: string, records: number): Promise<Transfer> {
  const args = ['--bootstrap-server', address, '--topic', topic, '--num-records', String(records), '--hide-header']
  const { code, stdout, stderr } = await runTool('consumer-perf-test', [...args, '--timeout', '60000'])
  const fields = stdout.trim().split('\n').at(-1)?.split(', ') ?? []
  const [consumed, fetchSeconds] = [Number(fields[4]), Number(fields[7]) / 1000]
  if (code !== 0 || !(consumed >= records) || !(fetchSeconds > 0)) {
    throw new Error(`consumer-perf-test read ${consumed} of ${records}:\n${stdout}${stderr}`)
  }
  return { records: consumed, megabytesPerSecond: (consumed * recordBytes) / 1e6 / fetchSeconds }
}

import { runTool } from '../test/support/kafka-oracle.ts'

export const recordBytes = 1024

/** One GB, 10^9 bytes, of values. */
export const recordsPerGb = Math.ceil(1e9 / recordBytes)

export interface Transfer {
  readonly records: number
  /** 10^6 bytes of values a second, by the client's own clock. */
  readonly megabytesPerSecond: number
}

export interface ProduceLoad {
  /** Of one value. */
  readonly bytes?: number
  readonly codec?: string
}

/** Kafka's own producer benchmark. The first third warms the client up and does not count in the rate. */
export async function produceWithJava(
  address: string,
  topic: string,
  records: number,
  { bytes = recordBytes, codec = 'none' }: ProduceLoad = {},
): Promise<Transfer> {
  const settings = ['batch.size=131072', 'linger.ms=5', 'buffer.memory=67108864', `compression.type=${codec}`]
  const warmUpRecords = Math.floor(records / 3)
  const { perSecond } = await producerPerformance({
    address,
    topic,
    records,
    bytes,
    perSecond: -1,
    warmUpRecords,
    settings,
  })
  return { records, megabytesPerSecond: (perSecond * bytes) / 1e6 }
}

/** Milliseconds from `send` to the acknowledgement, at this many records a second with the client's own settings. */
export async function produceLatencyWithJava(
  address: string,
  topic: string,
  { perSecond, seconds, warmUpSeconds }: { perSecond: number; seconds: number; warmUpSeconds: number },
): Promise<{ p50: number; p99: number }> {
  const warmUpRecords = perSecond * warmUpSeconds
  const records = warmUpRecords + perSecond * seconds
  const settings = ['compression.type=none']
  return await producerPerformance({ address, topic, records, bytes: recordBytes, perSecond, warmUpRecords, settings })
}

async function producerPerformance(options: {
  address: string
  topic: string
  records: number
  bytes: number
  /** -1: as many as it can. */
  perSecond: number
  warmUpRecords: number
  settings: readonly string[]
}): Promise<{ perSecond: number; p50: number; p99: number }> {
  const { address, topic, records, bytes, perSecond, warmUpRecords, settings } = options
  const args = ['--bootstrap-server', address, '--topic', topic, '--num-records', String(records)]
  args.push('--warmup-records', String(warmUpRecords), '--record-size', String(bytes))
  args.push('--throughput', String(perSecond), '--command-property', 'acks=all', ...settings)
  const { code, stdout, stderr } = await runTool('producer-perf-test', args)
  const summary =
    /records sent, ([\d.]+) records\/sec.* (\d+) ms 50th, .* (\d+) ms 99th/.exec(
      stdout.trim().split('\n').at(-1) ?? '',
    ) ?? []
  const [rate, p50, p99] = summary.slice(1).map(Number)
  if (code !== 0 || rate === undefined || p50 === undefined || p99 === undefined) {
    throw new Error(`producer-perf-test failed:\n${stdout}${stderr}`)
  }
  return { perSecond: rate, p50, p99 }
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

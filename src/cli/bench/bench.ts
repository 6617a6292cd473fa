import { randomBytes } from 'node:crypto'
import type { Session } from '../connect.ts'
import { withCluster } from '../connect.ts'
import { parseQuantity } from '../estimate/quantities.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import { parseCount, parseSettings } from '../topic/settings.ts'
import type { BenchFlags } from './command.ts'
import { type BenchKind, type BenchResult, type BenchSettings, linesOf } from './result.ts'
import { runConsume, runEndToEnd, runProduce } from './runs.ts'

const RUNS = { produce: runProduce, consume: runConsume, e2e: runEndToEnd } as const
const SECONDS = 10
const VALUE_BYTES_MAX = 1_000_000

export async function bench(kind: BenchKind, flags: BenchFlags): Promise<void> {
  const settings = settingsOf(kind, flags)
  const result = await withCluster(flags, (session) => measure(session, kind, settings, flags))
  await print(flags.format, result, linesOf(result))
}

/** In a topic of its own, unless one is named. */
async function measure(
  session: Session,
  kind: BenchKind,
  settings: BenchSettings,
  flags: BenchFlags,
): Promise<BenchResult> {
  if (flags.topic !== undefined) {
    const [topic] = await session.admin.describeTopics([flags.topic])
    return RUNS[kind](session, { ...settings, topic: flags.topic, partitions: topic?.partitions.length ?? 0 })
  }
  const replicas = parseCount('--replicas', flags.replicas)
  return inTopicOfItsOwn(
    session,
    settings,
    { ...(replicas === undefined ? {} : { replicationFactor: replicas }), configs: parseSettings(flags.config) },
    async (own) => {
      if (kind === 'consume') await runProduce(session, { ...own, rate: null, lingerMs: 5 })
      return RUNS[kind](session, own)
    },
  )
}

/** Makes a topic for the time of `work`. */
export async function inTopicOfItsOwn<T>(
  { admin }: Session,
  settings: BenchSettings,
  topic: { replicationFactor?: number; configs?: Readonly<Record<string, string>> },
  work: (settings: BenchSettings) => Promise<T>,
): Promise<T> {
  const name = `millrace-bench-${randomBytes(4).toString('hex')}`
  const [created] = await admin.createTopics([{ name, partitions: settings.partitions, ...topic }])
  if (created?.error) throw created.error
  try {
    await admin.describeTopics([name])
    return await work({ ...settings, topic: name })
  } finally {
    await admin.deleteTopics([name])
  }
}

export function settingsOf(kind: BenchKind, flags: BenchFlags): BenchSettings {
  const valueBytes = quantity('--size', flags.size)
  if (valueBytes > VALUE_BYTES_MAX) throw new CommandError(ExitCode.usage, `--size ${flags.size}: at most 1 MB`)
  const records = flags.records === undefined ? null : quantity('--records', flags.records)
  const seconds = flags.seconds === undefined ? null : quantity('--seconds', flags.seconds)
  const rate = flags.rate === undefined ? (kind === 'e2e' ? 1000 : null) : quantity('--rate', flags.rate)
  return {
    topic: '',
    valueBytes: Math.round(valueBytes),
    partitions: parseCount('--partitions', flags.partitions) ?? 1,
    compression: flags.compression as BenchSettings['compression'],
    acks: flags.acks === 'all' ? 'all' : (Number(flags.acks) as 0 | 1),
    lingerMs: lingerOf(kind, flags.lingerMs),
    batchBytes: Math.round(quantity('--batch-bytes', flags.batchBytes)),
    rate,
    recordsMax: records ?? Number.MAX_SAFE_INTEGER,
    durationMs: seconds === null ? (records === null ? SECONDS * 1000 : Number.MAX_SAFE_INTEGER) : seconds * 1000,
  }
}

function lingerOf(kind: BenchKind, text: string | undefined): number {
  if (text === undefined) return kind === 'e2e' ? 0 : 5
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new CommandError(ExitCode.usage, `--linger-ms ${text}: milliseconds are wanted`)
}

function quantity(flag: string, text: string): number {
  const value = parseQuantity(text)
  if (value !== null) return value
  throw new CommandError(ExitCode.usage, `${flag} ${text}: a number above 0 is wanted, as in 1000, 50k or 1KB`)
}

import { Producer, type ProducerOptions } from '../../client/producer.ts'
import type { FlagKinds, Flags } from './flags.ts'
import { clientErrorOf } from './java.ts'
import { linesOf } from './lines.ts'
import { LineReader } from './line-reader.ts'
import { clientProperties, parsePairs, readProperties } from './properties.ts'
import { err, out, requireFlags, type Tool, ToolExit, unsupported, usage, withServers } from './tool.ts'

const KINDS: FlagKinds = {
  'batch-size': 'int',
  'bootstrap-server': 'value',
  'command-config': 'value',
  'command-property': 'value',
  'compression-codec': 'optional',
  'line-reader': 'value',
  'max-block-ms': 'long',
  'max-memory-bytes': 'long',
  'max-partition-memory-bytes': 'int',
  'message-send-max-retries': 'int',
  'metadata-expiry-ms': 'long',
  'producer-property': 'value',
  'producer.config': 'value',
  property: 'value',
  'reader-config': 'value',
  'reader-property': 'value',
  'request-required-acks': 'value',
  'request-timeout-ms': 'int',
  'retry-backoff-ms': 'long',
  'socket-buffer-size': 'int',
  sync: 'switch',
  timeout: 'long',
  topic: 'value',
}

const LINE_READER = 'org.apache.kafka.tools.LineMessageReader'
const TAKEN = ['acks', 'batch.size', 'client.id', 'compression.type', 'enable.idempotence', 'linger.ms']
/** Records on their way, beside what the producer's buffer bounds. */
const UNACKNOWLEDGED_MAX = 10_000
const MAX_BLOCK_MS = 60_000

/** kafka-console-producer. */
export const consoleProducerTool: Tool = {
  kinds: KINDS,
  async run(flags) {
    const properties = await check(flags)
    const reader = new LineReader(readerProperties(flags))
    const options = optionsOf(flags, properties)
    const { 'client.id': clientId = 'console-producer' } = Object.fromEntries(properties)
    const callTimeoutMs = flags.number('max-block-ms') ?? MAX_BLOCK_MS
    return withServers(
      flags.value('bootstrap-server') ?? '',
      { clientId, callTimeoutMs, createTopics: true },
      async ({ client }) => {
        const producer = new Producer(client, options)
        try {
          await sendLines(producer, reader, flags)
          return 0
        } finally {
          await producer.close()
        }
      },
    )
  },
}

const RENAMED = [
  ['property', 'reader-property'],
  ['producer-property', 'command-property'],
  ['producer.config', 'command-config'],
] as const

async function check(flags: Flags): Promise<Map<string, string>> {
  requireFlags(flags, 'topic')
  if (!flags.has('bootstrap-server')) throw usage('Error while validating the bootstrap address\n')
  for (const [old, now] of RENAMED) {
    if (flags.has(old) && flags.has(now)) throw usage(`Options --${old} and --${now} cannot be specified together.`)
    if (flags.has(old))
      await out(`Warning: --${old} is deprecated and will be removed in a future version. Use --${now} instead.\n`)
  }
  if (flags.has('max-partition-memory-bytes'))
    await out(
      'Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. Use --batch-size instead.\n',
    )
  const reader = flags.value('line-reader') ?? LINE_READER
  if (reader !== LINE_READER) throw unsupported(`the reader ${reader}`)
  return clientProperties(flags, {
    files: ['producer.config', 'command-config'],
    pairs: ['producer-property', 'command-property'],
    taken: TAKEN,
  })
}

function readerProperties(flags: Flags): Map<string, string> {
  const file = flags.value('reader-config')
  return new Map([
    ...(file === undefined ? [] : readProperties(file)),
    ...parsePairs([...flags.values('property'), ...flags.values('reader-property')]),
  ])
}

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
const ACKS = ['all', '-1', '0', '1'] as const

/** Flags stand above properties. */
function optionsOf(flags: Flags, properties: ReadonlyMap<string, string>): ProducerOptions {
  const codec = flags.has('compression-codec')
    ? (flags.value('compression-codec') ?? 'gzip')
    : (properties.get('compression.type') ?? 'none')
  const acks = flags.value('request-required-acks') ?? properties.get('acks') ?? '-1'
  const chosen = oneOf('acks', acks, ACKS)
  const isAll = chosen === 'all' || chosen === '-1'
  const idempotence = properties.get('enable.idempotence')
  return {
    acks: isAll ? 'all' : (Number(chosen) as 0 | 1),
    idempotent: isAll && idempotence !== 'false',
    compression: oneOf('compression.type', codec, CODECS),
    lingerMs: flags.number('timeout') ?? Number(properties.get('linger.ms') ?? 1000),
    batchBytes:
      flags.number('batch-size') ??
      flags.number('max-partition-memory-bytes') ??
      Number(properties.get('batch.size') ?? 16_384),
    ...(flags.has('max-memory-bytes') ? { bufferBytes: flags.number('max-memory-bytes') ?? 0 } : {}),
    deliveryTimeoutMs: flags.number('max-block-ms') ?? MAX_BLOCK_MS,
  }
}

function oneOf<T extends string>(key: string, value: string, known: readonly T[]): T {
  if ((known as readonly string[]).includes(value)) return value as T
  const text = `Invalid value ${value} for configuration ${key}: String must be one of: ${known.join(', ')}`
  throw new ToolExit(1, 'stderr', `org.apache.kafka.common.config.ConfigException: ${text}`)
}

/** What cannot be delivered is said, and, as with Kafka's tool, is no failure of the whole. */
async function sendLines(producer: Producer, reader: LineReader, flags: Flags): Promise<void> {
  const topic = flags.value('topic') ?? ''
  const pending = new Set<Promise<void>>()
  for await (const line of linesOf(process.stdin)) {
    const { headers, ...record } = reader.read(line)
    const sent = producer.send({ topic, ...record, headers }).then(
      () => {},
      (error: unknown) => err(`Error when sending message to topic ${topic}: ${clientErrorOf(error).message}\n`),
    )
    pending.add(sent)
    void sent.then(() => pending.delete(sent))
    const [oldest] = pending
    if (flags.has('sync')) await sent
    else if (pending.size >= UNACKNOWLEDGED_MAX) await oldest
  }
}

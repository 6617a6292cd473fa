import { parseProperties } from '../../server/config/properties.ts'
import { FileTooLargeError, readText } from '../read-file.ts'
import type { Flags } from './flags.ts'
import { CommandFailure, unsupported } from './tool.ts'

/** Keys of Java clients that change how they work inside, and nothing that anybody could see here. */
const WITHOUT_EFFECT = new Set([
  'bootstrap.servers',
  'allow.auto.create.topics',
  'buffer.memory',
  'check.crcs',
  'client.dns.lookup',
  'connections.max.idle.ms',
  'default.api.timeout.ms',
  'delivery.timeout.ms',
  'enable.metrics.push',
  'fetch.max.bytes',
  'fetch.max.wait.ms',
  'fetch.min.bytes',
  'group.protocol',
  'heartbeat.interval.ms',
  'key.deserializer',
  'key.serializer',
  'max.in.flight.requests.per.connection',
  'max.partition.fetch.bytes',
  'max.poll.interval.ms',
  'max.poll.records',
  'max.request.size',
  'metadata.max.age.ms',
  'partitioner.adaptive.partitioning.enable',
  'receive.buffer.bytes',
  'reconnect.backoff.max.ms',
  'reconnect.backoff.ms',
  'request.timeout.ms',
  'retries',
  'retry.backoff.max.ms',
  'retry.backoff.ms',
  'send.buffer.bytes',
  'session.timeout.ms',
  'value.deserializer',
  'value.serializer',
])

/** The properties of a file and of flags, the later ones over the earlier. Refuses what is neither in `taken` nor without effect. */
export function clientProperties(
  flags: Flags,
  { files, pairs, taken }: { files: readonly string[]; pairs: readonly string[]; taken: readonly string[] },
): Map<string, string> {
  const all = new Map<string, string>()
  for (const name of files) {
    const file = flags.value(name)
    if (file !== undefined) for (const [key, value] of readProperties(file)) all.set(key, value)
  }
  for (const name of pairs) for (const [key, value] of parsePairs(flags.values(name))) all.set(key, value)
  for (const [key, value] of all) {
    if (key === 'security.protocol' && value === 'PLAINTEXT') continue
    if (!taken.includes(key) && !WITHOUT_EFFECT.has(key)) throw unsupported(`the property ${key}`)
  }
  return all
}

export function readProperties(file: string): Map<string, string> {
  return new Map(parseProperties(textOf(file)).map(({ key, value }) => [key, value]))
}

/** A file that is named on the command line. Throws `CommandFailure`, as Kafka's tools put it. */
export function textOf(file: string): string {
  try {
    return readText(file)
  } catch (error) {
    if (error instanceof FileTooLargeError) throw new CommandFailure(`${file}: ${error.message}`)
    throw new CommandFailure(`java.nio.file.NoSuchFileException: ${file}`)
  }
}

/** `key=value` flags; a key alone has an empty value. */
export function parsePairs(pairs: readonly string[]): Map<string, string> {
  return new Map(
    pairs.map((pair) => {
      const equals = pair.indexOf('=')
      return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
    }),
  )
}

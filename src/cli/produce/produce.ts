import type { Admin } from '../../client/admin.ts'
import type { Delivery } from '../../client/producer-batch.ts'
import { Producer, type ProducerRecord } from '../../client/producer.ts'
import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { write } from '../output.ts'
import { formatCount } from '../quantity.ts'
import { compileInputFormat, InputFormatError, type InputRecord } from '../records/input-format.ts'
import { compileOutputFormat, jsonRecord } from '../records/output-format.ts'
import type { PrintedRecord } from '../records/printed-record.ts'
import type { ProduceFlags } from './command.ts'
import { JsonLines } from './json-lines.ts'

/** Records sent and not acknowledged yet. */
const UNACKNOWLEDGED_MAX = 10_000

interface RecordSource {
  push(chunk: Buffer): void
  end(): void
  next(): InputRecord | null
}

export async function produce(topic: string | null, flags: ProduceFlags): Promise<void> {
  const source = sourceOf(flags.format)
  const print = printerOf(flags.outputFormat)
  const defaults = defaultsOf(topic, flags)
  await withCluster(flags, async ({ client, admin }) => {
    const findTopic = topicFinder(admin)
    if (defaults.topic !== null) await findTopic(defaults.topic)
    const acks = flags.acks === 'all' ? 'all' : (Number(flags.acks) as 0 | 1)
    const producer = new Producer(client, { acks, compression: flags.compression, lingerMs: 5 })
    const sent = new Sent()
    try {
      for await (const chunk of chunksWithEnd()) {
        if (chunk === null) source.end()
        else source.push(chunk)
        for (let record = source.next(); record !== null; record = source.next()) {
          const complete = withDefaults(record, defaults)
          await findTopic(complete.topic)
          await sent.room()
          sent.add(deliver(producer, complete, print))
        }
      }
    } catch (error) {
      if (error instanceof InputFormatError) throw new CommandError(ExitCode.failed, error.message)
      throw error
    } finally {
      await producer.close()
      await sent.all()
    }
    sent.throwFirst()
    process.stderr.write(`produced ${formatCount(sent.count)} ${sent.count === 1 ? 'record' : 'records'}\n`)
  })
}

/** A producer waits for a topic to appear. Whoever mistyped a name wants to hear it at once, as of a server that is away. */
function topicFinder(admin: Admin): (topic: string) => Promise<void> | undefined {
  const known = new Set<string>()
  return (topic) => (known.has(topic) ? undefined : admin.describeTopics([topic]).then(() => void known.add(topic)))
}

/** What is on its way. The first failure ends the command; nothing is sent behind it. */
class Sent {
  count = 0
  readonly #pending = new Set<Promise<void>>()
  #failure: unknown = null

  add(delivery: Promise<void>): void {
    const settled = delivery.then(
      () => {
        this.count++
      },
      (error: unknown) => {
        this.#failure ??= error
      },
    )
    this.#pending.add(settled)
    void settled.then(() => this.#pending.delete(settled))
  }

  async room(): Promise<void> {
    this.throwFirst()
    // The oldest is acknowledged first, or nearly so. A race would leave a handler on each of them for every record.
    const [oldest] = this.#pending
    if (this.#pending.size >= UNACKNOWLEDGED_MAX) await oldest
  }

  async all(): Promise<void> {
    await Promise.all(this.#pending)
  }

  throwFirst(): void {
    if (this.#failure !== null) throw this.#failure
  }
}

async function deliver(producer: Producer, record: CompleteRecord, print: Printer | null): Promise<void> {
  const delivery = await producer.send(record)
  if (print !== null) await write(print({ ...record, ...delivery }))
}

/** The chunks of standard input, then null. */
async function* chunksWithEnd(): AsyncGenerator<Buffer | null> {
  for await (const chunk of process.stdin) yield chunk as Buffer
  yield null
}

function sourceOf(format: string): RecordSource {
  if (format === 'json') return new JsonLines()
  const reader = compileInputFormat(format)
  if (typeof reader === 'string') throw new CommandError(ExitCode.usage, `--format: ${reader}`)
  return reader
}

type CompleteRecord = ProducerRecord & { readonly headers: InputRecord['headers'] }
type Printer = (record: CompleteRecord & Delivery) => string | Buffer

function printerOf(format: string | undefined): Printer | null {
  if (format === undefined) return null
  const compiled = format === 'json' ? null : compileOutputFormat(format)
  if (typeof compiled === 'string') throw new CommandError(ExitCode.usage, `--output-format: ${compiled}`)
  let count = 0
  return ({ topic, partition, offset, timestampMs, key, value, headers }) => {
    const record: PrintedRecord = {
      topic,
      partition,
      offset,
      timestampMs,
      leaderEpoch: -1,
      attributes: 0,
      producerId: -1,
      producerEpoch: -1,
      key: key === undefined || key === null ? null : Buffer.from(key),
      value: value === undefined || value === null ? null : Buffer.from(value),
      headers,
    }
    return compiled === null ? `${jsonRecord(record)}\n` : compiled(record, ++count)
  }
}

interface Defaults {
  readonly topic: string | null
  readonly partition: number | null
  readonly key: Buffer | null
  readonly headers: readonly { key: string; value: Buffer }[]
}

function defaultsOf(topic: string | null, flags: ProduceFlags): Defaults {
  if (flags.partition !== undefined && !/^\d{1,9}$/.test(flags.partition)) {
    throw new CommandError(ExitCode.usage, `--partition ${flags.partition} is not a number`)
  }
  const headers = (flags.header ?? []).map((header) => {
    const at = header.indexOf(':')
    if (at < 1) throw new CommandError(ExitCode.usage, `--header ${header} is not key:value`)
    return { key: header.slice(0, at), value: Buffer.from(header.slice(at + 1)) }
  })
  return {
    topic,
    partition: flags.partition === undefined ? null : Number(flags.partition),
    key: flags.key === undefined ? null : Buffer.from(flags.key),
    headers,
  }
}

/** A topic on the command line is where everything goes; the other flags fill in what a record does not bring. */
function withDefaults(record: InputRecord, defaults: Defaults): CompleteRecord {
  const topic = defaults.topic ?? record.topic
  if (topic === null) throw new CommandError(ExitCode.usage, 'no topic: name one, or let the format bring it (%t)')
  const partition = record.partition ?? defaults.partition
  return {
    topic,
    key: record.key ?? defaults.key,
    value: record.value,
    headers: [...record.headers, ...defaults.headers],
    ...(partition === null ? {} : { partition }),
    ...(record.timestampMs === null ? {} : { timestampMs: record.timestampMs }),
  }
}

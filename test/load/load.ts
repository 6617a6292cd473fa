import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Ack } from '../history/ledger.ts'
import { root } from '../support/files.ts'
import { toolArguments } from '../support/kafka-oracle.ts'
import { track } from '../support/process.ts'
import { pythonPath } from '../support/toolchain.ts'

export type LoadClient = 'librdkafka' | 'java'

export interface LoadOptions {
  readonly client: LoadClient
  /** Separated by commas. */
  readonly addresses: string
  readonly topic: string
  /** Which of the run's producers this is. */
  readonly producer: number
  /** librdkafka only: record n goes to partition n % partitions. Left out: wherever its key puts it. */
  readonly partitions?: number
  /** Record n has the key n % keys. Left out: no key. */
  readonly keys?: number
  /** 0: as many as the client takes. */
  readonly perSecond: number
  /** librdkafka only; Java's values are as long as their number. */
  readonly valueBytes?: number
  /** Of the client, by its own names, beyond being idempotent and never giving up. */
  readonly settings?: Readonly<Record<string, string>>
  /** Put before the command. */
  readonly wrapper?: readonly string[]
  /** For the files that a client needs. */
  readonly directory: string
  onAck(ack: Ack): void
}

/** At full rate the tool still hands over records when its client is closed: these were never sent, though it counts them. */
const CLOSED = ['Producer closed while allocating memory', 'Cannot perform operation after producer has been closed']

/** A real idempotent producer in a process of its own that never stops by itself and tells all that is acknowledged to it. */
export class Load {
  readonly failures: string[] = []
  acknowledged = 0
  /** As it told in the end: how many records it gave to its client. */
  #told: number | null = null
  /** Of these, how many the client did not take. */
  #refused = 0
  readonly #options: LoadOptions
  readonly #child: ChildProcess
  readonly #ended: Promise<void>

  constructor(options: LoadOptions) {
    this.#options = options
    const [command, args] = options.client === 'java' ? javaCommand(options) : librdkafkaCommand(options)
    const [first = command, ...rest] = [...(options.wrapper ?? []), command, ...args]
    const errors = openSync(join(options.directory, `producer-${options.producer}.errors`), 'w')
    this.#child = spawn(first, rest, { stdio: ['ignore', 'pipe', errors] })
    closeSync(errors)
    track(this.#child)
    const { stdout } = this.#child
    if (stdout === null) throw new Error('no pipe from the producer')
    const lines = createInterface({ input: stdout })
    lines.on('line', (line) => (options.client === 'java' ? this.#onJson(line) : this.#onWords(line)))
    const told = new Promise<void>((resolve) => lines.once('close', resolve))
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', (code) => {
        // A JVM tells the signal that ended it even when it ended well.
        if (code !== 0 && !(options.client === 'java' && code === 143)) {
          this.failures.push(`producer ${options.producer} (${options.client}) ended with ${code}`)
        }
        void told.then(resolve)
      })
    })
  }

  /** Once it has ended: how many records it sent in all. */
  get sent(): number | null {
    return this.#told === null ? null : this.#told - this.#refused
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  #onWords(line: string): void {
    const words = line.split(' ')
    if (words[0] === 'failed') this.failures.push(line)
    else if (words[0] === 'done') this.#told = Number(words[1])
    else {
      const [number = -1, partition = -1, offset = -1, atMs = 0] = words.map(Number)
      this.#onAck({ number, partition, offset, atMs })
    }
  }

  /** A line of Kafka's VerifiableProducer. */
  #onJson(line: string): void {
    if (!line.startsWith('{')) return
    const event = JSON.parse(line) as Record<string, string | number>
    if (event.name === 'producer_send_success') {
      this.#onAck({
        number: Number(String(event.value).split('.')[1]),
        partition: Number(event.partition),
        offset: Number(event.offset),
        atMs: Number(event.timestamp),
      })
    } else if (event.name === 'producer_send_error') {
      if (CLOSED.includes(String(event.message))) this.#refused++
      else this.failures.push(line)
    } else if (event.name === 'tool_data') this.#told = Number(event.sent)
  }

  #onAck(ack: Omit<Ack, 'producer'>): void {
    this.acknowledged++
    this.#options.onAck({ ...ack, producer: this.#options.producer })
  }

  /** Resolves when `count` more records were acknowledged than now. */
  async advances(count: number, timeoutMs: number): Promise<void> {
    const goal = this.acknowledged + count
    const deadline = performance.now() + timeoutMs
    while (this.acknowledged < goal) {
      this.throwFailures()
      if (performance.now() > deadline) {
        const { client, producer } = this.#options
        throw new Error(`no ${count} records acknowledged to ${client} (producer ${producer}) within ${timeoutMs} ms`)
      }
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  /** Lets it deliver what it has queued, and ends it. */
  async finish(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#ended
    this.throwFailures()
  }

  /** Throws what went wrong with it, if anything did. */
  throwFailures(): void {
    const { failures } = this
    if (failures.length > 0) throw new Error(`the producer failed: ${failures.slice(0, 3).join('; ')}`)
  }
}

function librdkafkaCommand(options: LoadOptions): [string, string[]] {
  const { addresses, topic, producer, partitions = 0, keys = 0, perSecond, valueBytes = 0, settings = {} } = options
  const told = { addresses, topic, producer, partitions, keys, perSecond, valueBytes, settings }
  return [pythonPath(), [join(root, 'test', 'load', 'producer.py'), JSON.stringify(told)]]
}

function javaCommand(options: LoadOptions): [string, string[]] {
  const { addresses, topic, producer, keys, perSecond } = options
  const file = join(options.directory, `producer-${producer}.properties`)
  const forEver = '2147483647'
  const settings = { retries: forEver, 'delivery.timeout.ms': forEver, 'enable.idempotence': 'true' }
  const lines = Object.entries({ ...settings, ...options.settings }).map(([key, value]) => `${key}=${value}\n`)
  writeFileSync(file, lines.join(''))
  const args = ['--bootstrap-server', addresses, '--topic', topic, '--value-prefix', String(producer)]
  args.push('--throughput', String(perSecond === 0 ? -1 : perSecond), '--command-config', file)
  if (keys !== undefined) args.push('--repeating-keys', String(keys))
  return ['java', toolArguments('verifiable-producer', args, '1G')]
}

/** Tells a run's records from others. `valueBytes` has the producers that pad their values. */
export function recognizer(options: { keys?: number; valueBytes: ReadonlyMap<number, number> }) {
  const { keys, valueBytes } = options
  return ({ key, value }: { key: Buffer | null; value: Buffer | null }) => {
    const [, producer = '-1', number = '-1', padding = ''] =
      /^(\d+)\.(\d+)( \.*|)$/.exec(value?.toString('latin1') ?? '') ?? []
    const length = valueBytes.get(Number(producer))
    const rightValue = length === undefined ? padding === '' : value?.length === length
    const rightKey = keys === undefined ? key === null : key?.toString('latin1') === String(Number(number) % keys)
    return { producer: Number(producer), number: Number(number), intact: rightValue && rightKey }
  }
}

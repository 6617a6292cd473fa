import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './files.ts'
import { kafkaLibs, kafkaProperties, kafkaTools, serverJvmFlags } from './kafka-oracle.ts'
import { freePort } from './ports.ts'
import { Background, runOrFail, until } from './process.ts'
import { apiVersions, metadata } from './wire-calls.ts'
import { Wire } from './wire.ts'

export type ServerKind = 'millrace' | 'kafka'

export interface ServerOptions {
  readonly kind: ServerKind
  /** Holds the data, the configuration and what the server prints; must exist. */
  readonly directory: string
  /** Data elsewhere than in `directory/data`. */
  readonly dataDirectory?: string
  /** Kafka's broker settings, by their names in server.properties; the same for both kinds. */
  readonly config?: Readonly<Record<string, string>>
  /** Put before the server's own command: `strace …`, `taskset …`. */
  readonly wrapper?: readonly string[]
  readonly env?: Record<string, string>
}

/**
 * One node, Millrace or a real Kafka, under the same handle: what a harness asks of one it asks of the other. The
 * address stays the same over all restarts.
 */
export class Server {
  readonly kind: ServerKind
  readonly dataDirectory: string
  readonly address: string
  readonly httpAddress: string
  #directory: string
  #controllerPort: number
  #options: ServerOptions
  #process: Background | null = null

  private constructor(options: ServerOptions, ports: readonly [number, number, number]) {
    this.kind = options.kind
    this.#options = options
    this.#directory = options.directory
    this.dataDirectory = options.dataDirectory ?? join(options.directory, 'data')
    this.address = `127.0.0.1:${ports[0]}`
    this.#controllerPort = ports[1]
    this.httpAddress = `127.0.0.1:${ports[2]}`
  }

  /** Chooses ports; `start` runs it. */
  static async prepare(options: ServerOptions): Promise<Server> {
    return new Server(options, [await freePort(), await freePort(), await freePort()])
  }

  /** Chooses ports, starts, and waits until it serves. */
  static async start(options: ServerOptions): Promise<Server> {
    const server = await Server.prepare(options)
    await server.start()
    return server
  }

  get port(): number {
    return Number(this.address.split(':')[1])
  }

  get process(): Background {
    if (this.#process === null) throw new Error(`${this.kind} is not running`)
    return this.#process
  }

  get isRunning(): boolean {
    return this.#process !== null && !this.#process.hasEnded
  }

  /** Starts the process; resolves when it answers ApiVersions and Metadata with itself as a broker. */
  async start(options: { timeoutMs?: number } = {}): Promise<void> {
    await this.launch()
    await this.ready(options.timeoutMs ?? 90_000)
  }

  /** Starts the process without waiting for it to serve. */
  async launch(): Promise<void> {
    const [command, args] = this.kind === 'kafka' ? await this.#kafkaCommand() : this.#millraceCommand()
    const [first = command, ...rest] = [...(this.#options.wrapper ?? []), command, ...args]
    this.#process = new Background(this.kind, first, rest, {
      outputFile: join(this.#directory, 'server.out'),
      append: true,
      ...(this.#options.env === undefined ? {} : { env: this.#options.env }),
    })
  }

  async ready(timeoutMs: number): Promise<void> {
    const process = this.process
    await until(
      `${this.kind} at ${this.address} answers`,
      async () => {
        if (process.hasEnded) throw new Error(`${this.kind} ended while starting:\n${process.output()}`)
        try {
          const wire = await Wire.connect(this.address, 1000)
          try {
            await apiVersions(wire)
            const { brokers } = await metadata(wire, [])
            return brokers.length > 0 ? true : null
          } finally {
            wire.close()
          }
        } catch {
          return null
        }
      },
      { timeoutMs, everyMs: 20 },
    ).catch((error: Error) => {
      throw new Error(`${error.message}\n${process.output()}`, { cause: error })
    })
  }

  /** The death of the process: `kill -9`. */
  async kill(): Promise<void> {
    await this.#process?.kill()
  }

  /** A clean stop by SIGTERM. Returns the exit code. */
  async stop(withinMs = 30_000): Promise<number> {
    return this.#process === null ? 0 : await this.#process.stop(withinMs)
  }

  /** What SIGTERM makes the process return: a JVM tells the signal even when it ended well. */
  get cleanExitCode(): number {
    return this.kind === 'kafka' ? 143 : 0
  }

  async kafkaFormat(): Promise<void> {
    if (existsSync(join(this.dataDirectory, 'meta.properties'))) return
    await runOrFail('java', [
      '-cp',
      `${kafkaLibs()}/*`,
      kafkaTools.storage,
      'format',
      '-t',
      'bWlsbHJhY2UtdGVzdC0wMQ',
      '-c',
      this.#writeKafkaProperties(),
    ])
  }

  #writeKafkaProperties(): string {
    mkdirSync(this.dataDirectory, { recursive: true })
    const file = join(this.#directory, 'server.properties')
    const { dataDirectory, port } = this
    const config = this.#options.config ?? {}
    writeFileSync(file, kafkaProperties({ dataDirectory, port, controllerPort: this.#controllerPort, config }))
    return file
  }

  async #kafkaCommand(): Promise<[string, string[]]> {
    await this.kafkaFormat()
    return ['java', [...serverJvmFlags, '-cp', `${kafkaLibs()}/*`, 'kafka.Kafka', this.#writeKafkaProperties()]]
  }

  #millraceCommand(): [string, string[]] {
    const args = ['start', '--data', this.dataDirectory, '--listen', this.address, '--http', this.httpAddress]
    args.push('--controller-listen', `127.0.0.1:${this.#controllerPort}`)
    const config = Object.entries(this.#options.config ?? {})
    if (config.length > 0) {
      const file = join(this.#directory, 'server.properties')
      writeFileSync(file, `${config.map(([key, value]) => `${key}=${value}`).join('\n')}\n`)
      args.push('--config', file)
    }
    return [join(root, 'bin', 'millrace'), args]
  }
}

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
  /** Of Kafka's JVM, instead of its start script's: `384M`. */
  readonly heap?: string
  /** A Kafka whose voters can come and go, as Millrace's can. */
  readonly dynamicVoters?: boolean
  /** Left out, the node is a cluster of its own, on free ports of loopback. */
  readonly place?: Place
}

/** Where a node stands in a cluster of several. */
export interface Place {
  readonly nodeId: number
  readonly zone: string | null
  /** `host:port`, each. */
  readonly address: string
  readonly controllerAddress: string
  readonly httpAddress: string
  /** All nodes, by their controller listeners: Kafka wants to know them beforehand. */
  readonly voters: readonly { readonly nodeId: number; readonly address: string }[]
  /** A node that Millrace asks to be taken in by; null: it founds the cluster. */
  readonly join: string | null
}

async function ownPlace(): Promise<Place> {
  const [address, controllerAddress, httpAddress] = [await freeAddress(), await freeAddress(), await freeAddress()]
  const voters = [{ nodeId: 1, address: controllerAddress }]
  return { nodeId: 1, zone: null, address, controllerAddress, httpAddress, voters, join: null }
}

async function freeAddress(): Promise<string> {
  return `127.0.0.1:${await freePort()}`
}

/**
 * One node, Millrace or a real Kafka, under the same handle: what a harness asks of one it asks of the other. The
 * address stays the same over all restarts.
 */
export class Server {
  readonly kind: ServerKind
  readonly dataDirectory: string
  readonly place: Place
  /** Whether a start says whom to join; a folder that joined needs it no more. */
  saysJoin = true
  /** The number that a start insists on, where the node's place in the test does not say. */
  saysNumber: number | null = null
  #directory: string
  #options: ServerOptions
  #process: Background | null = null

  private constructor(options: ServerOptions, place: Place) {
    this.kind = options.kind
    this.place = place
    this.#options = options
    this.#directory = options.directory
    this.dataDirectory = options.dataDirectory ?? join(options.directory, 'data')
  }

  /** Chooses ports; `start` runs it. */
  static async prepare(options: ServerOptions): Promise<Server> {
    return new Server(options, options.place ?? (await ownPlace()))
  }

  /** Chooses ports, starts, and waits until it serves. */
  static async start(options: ServerOptions): Promise<Server> {
    const server = await Server.prepare(options)
    await server.start()
    return server
  }

  get address(): string {
    return this.place.address
  }

  get httpAddress(): string {
    return this.place.httpAddress
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
      ...(this.#options.dynamicVoters === true ? ['--standalone'] : []),
    ])
  }

  #writeKafkaProperties(): string {
    mkdirSync(this.dataDirectory, { recursive: true })
    const file = join(this.#directory, 'server.properties')
    const { dataDirectory, place } = this
    writeFileSync(
      file,
      kafkaProperties({
        ...place,
        dataDirectory,
        config: this.#options.config ?? {},
        dynamicVoters: this.#options.dynamicVoters === true,
      }),
    )
    return file
  }

  async #kafkaCommand(): Promise<[string, string[]]> {
    await this.kafkaFormat()
    const { heap } = this.#options
    const size = heap === undefined ? [] : [`-Xmx${heap}`, `-Xms${heap}`]
    return [
      'java',
      [...serverJvmFlags, ...size, '-cp', `${kafkaLibs()}/*`, 'kafka.Kafka', this.#writeKafkaProperties()],
    ]
  }

  #millraceCommand(): [string, string[]] {
    const { nodeId, zone, address, controllerAddress, httpAddress, join: member, voters } = this.place
    const args = ['start', '--data', this.dataDirectory, '--listen', address, '--http', httpAddress]
    args.push('--controller-listen', controllerAddress)
    const number = this.saysNumber ?? (voters.length > 1 ? nodeId : null)
    if (number !== null) args.push('--node-id', String(number))
    if (zone !== null) args.push('--zone', zone)
    if (member !== null && this.saysJoin) args.push('--join', member)
    const config = Object.entries(this.#options.config ?? {})
    if (config.length > 0) {
      const file = join(this.#directory, 'server.properties')
      writeFileSync(file, `${config.map(([key, value]) => `${key}=${value}`).join('\n')}\n`)
      args.push('--config', file)
    }
    return [join(root, 'bin', 'millrace'), args]
  }
}

import { until } from '../support/process.ts'
import type { Server } from '../support/server.ts'
import { createTopic, listOffset, metadata, WireError } from '../support/wire-calls.ts'
import { Wire } from '../support/wire.ts'
import type { Adapter } from './adapter.ts'

/** What one run of one case with one client on one server has at hand. */
export class Context {
  readonly server: Server
  /** Begins all names of topics and groups; the same on both servers. */
  readonly prefix: string
  readonly #shared: () => Promise<Adapter>
  readonly #spawn: () => Promise<Adapter>
  readonly #members: Adapter[] = []

  constructor(options: {
    server: Server
    prefix: string
    shared: () => Promise<Adapter>
    spawn: () => Promise<Adapter>
  }) {
    this.server = options.server
    this.prefix = options.prefix
    this.#shared = options.shared
    this.#spawn = options.spawn
  }

  /** The client; other cases used this process before. */
  adapter(): Promise<Adapter> {
    return this.#shared()
  }

  /** A process of its own, killed when the case is over. */
  async member(): Promise<Adapter> {
    const member = await this.#spawn()
    this.#members.push(member)
    return member
  }

  name(suffix: string): string {
    return `${this.prefix}.${suffix}`
  }

  /** Makes a topic without the client's help, and gives its name. */
  async topic(suffix: string, partitions = 1, configs: Readonly<Record<string, string>> = {}): Promise<string> {
    const topic = this.name(suffix)
    await this.wire(async (wire) => {
      await createTopic(wire, topic, partitions, configs)
      await until(`${topic} is served`, () => isServed(wire, topic, partitions), { timeoutMs: 10_000, everyMs: 20 })
    })
    return topic
  }

  async wire<T>(use: (wire: Wire) => Promise<T>): Promise<T> {
    const wire = await Wire.connect(this.server.address)
    try {
      return await use(wire)
    } finally {
      wire.close()
    }
  }

  end(): void {
    for (const member of this.#members) member.kill()
  }
}

/**
 * A Kafka's broker hears of a topic a moment after its controller has made it, and takes its partitions up one by one: until then
 * clients are refused, and some send again what another partition has taken already.
 */
async function isServed(wire: Wire, topic: string, partitions: number): Promise<true | null> {
  const known = (await metadata(wire, [topic])).topics[0]?.partitions ?? []
  if (known.length !== partitions) return null
  try {
    for (const { partition } of known) await listOffset(wire, { topic, partition, timestamp: -1 })
    return true
  } catch (error) {
    if (error instanceof WireError) return null
    throw error
  }
}

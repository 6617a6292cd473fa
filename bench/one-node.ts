import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { removeTemporary } from '../test/support/files.ts'
import { readyTopic, retried } from '../test/support/retry.ts'
import { Server, type ServerKind } from '../test/support/server.ts'
import { deleteTopic } from '../test/support/wire-calls.ts'
import { consumeWithJava, produceWithJava, recordsPerGb, type Transfer } from './clients.ts'
import { cpuSeconds } from './process-stats.ts'
import { type Durability, type Figures, topicConfig } from './report.ts'

export const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** What a server finishes a moment after its client is done counts too. */
const AFTERMATH_MS = 500

/** The servers of one benchmark, each a cluster of its own in a folder of its own. */
export class OneNode {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  async prepare(kind: ServerKind, name: string): Promise<Server> {
    const home = join(this.#directory, `${kind}-${name}`)
    mkdirSync(home)
    return await Server.prepare({ kind, directory: home })
  }

  /** The folder of a server that has ended. */
  forget(kind: ServerKind, name: string): void {
    removeTemporary(join(this.#directory, `${kind}-${name}`))
  }

  /** Started, used, stopped and forgotten. */
  async with(kind: ServerKind, name: string, use: (server: Server) => Promise<void>): Promise<void> {
    const server = await this.prepare(kind, name)
    await server.start()
    await use(server)
    await server.stop()
    this.forget(kind, name)
  }
}

let topics = 0

/** A topic that is there while it is used. */
export async function withTopic(
  server: Server,
  durability: Durability,
  use: (topic: string) => Promise<void>,
  partitions = 1,
): Promise<void> {
  const topic = `${durability}-${++topics}`
  await readyTopic(server.address, topic, partitions, topicConfig(server.kind, durability))
  await use(topic)
  await retried(server.address, (wire) => deleteTopic(wire, topic))
}

/** Processor seconds of the broker for what `transfer` does. */
export async function brokerCpu<T>(server: Server, transfer: () => Promise<T>): Promise<[T, number]> {
  const before = cpuSeconds(server.process.pid)
  const result = await transfer()
  await wait(AFTERMATH_MS)
  return [result, cpuSeconds(server.process.pid) - before]
}

/** What `transfer` costs the broker for each GB, and how fast it was. */
export async function measure(
  server: Server,
  figures: Figures,
  what: string,
  transfer: () => Promise<Transfer>,
): Promise<void> {
  const [{ records, megabytesPerSecond }, seconds] = await brokerCpu(server, transfer)
  figures.note(`${what} cpu s/GB`, server.kind, (seconds / records) * recordsPerGb)
  figures.note(`${what} MB/s`, server.kind, megabytesPerSecond)
}

/** Records of 1 KB through the server and back, so that it is compiled as it will be. */
export async function warm(server: Server, records: number, readRecords: number): Promise<void> {
  if (records === 0) return
  console.log(`warming ${server.kind} with ${(records / recordsPerGb).toFixed(1)} GB`)
  await withTopic(server, 'relaxed', async (topic) => {
    await produceWithJava(server.address, topic, records)
    await consumeWithJava(server.address, topic, Math.min(records, readRecords))
  })
}

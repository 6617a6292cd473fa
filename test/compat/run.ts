import { join } from 'node:path'
import type { Server } from '../support/server.ts'
import { Adapter } from './adapter.ts'
import type { Case, Observation } from './case.ts'
import type { ClientDefinition } from './client.ts'
import { Context } from './context.ts'
import type { Declaration } from './protocol.ts'

/** How one case ended with one client on one server. */
export type Outcome =
  | { readonly kind: 'observed'; readonly value: Observation }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'unsupported'; readonly why: string }

const caseTimeoutMs = 300_000
const messageMax = 3000

/** One client on one server: its cases one after the other, mostly in one process of it. */
export class ClientRun {
  readonly #client: ClientDefinition
  readonly #server: Server
  readonly #directory: string
  #shared: Promise<Adapter> | null = null

  constructor(client: ClientDefinition, server: Server, directory: string) {
    this.#client = client
    this.#server = server
    this.#directory = directory
  }

  /** What the client says of itself. */
  async declaration(): Promise<Declaration> {
    if (this.#client.command !== null) return (await this.#adapter()).declaration
    return { client: this.#client.name, version: (await this.#client.version?.()) ?? '', unsupported: {} }
  }

  async run({ name, needs, run }: Case): Promise<Outcome> {
    const { unsupported } = await this.declaration()
    const lacked = needs.find((feature) => unsupported[feature] !== undefined)
    if (lacked !== undefined) return { kind: 'unsupported', why: unsupported[lacked] ?? '' }
    const context = new Context({
      server: this.#server,
      prefix: `${this.#client.name}.${name}`,
      shared: () => this.#adapter(),
      spawn: () => this.#start(),
    })
    try {
      return { kind: 'observed', value: plain(await within(run(context))) }
    } catch (error) {
      await this.end() // what it was doing when it failed may go on
      return { kind: 'failed', message: String(error instanceof Error ? error.message : error).slice(0, messageMax) }
    } finally {
      context.end()
    }
  }

  async end(): Promise<void> {
    const adapter = await this.#shared?.catch(() => null)
    this.#shared = null
    adapter?.kill()
  }

  async #adapter(): Promise<Adapter> {
    const current = await this.#shared
    if (current?.isRunning === true) return current
    this.#shared = this.#start()
    return this.#shared
  }

  #start(): Promise<Adapter> {
    const { name, command, env = {}, startMs = 30_000 } = this.#client
    if (command === null) throw new Error(`${name} has no adapter`)
    const errorFile = join(this.#directory, `${name}.${this.#server.kind}.errors`)
    return Adapter.start({ command: command(), bootstrap: this.#server.address, env, errorFile, startMs })
  }
}

async function within<T>(running: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over within ${caseTimeoutMs} ms`)), caseTimeoutMs)
  })
  try {
    return await Promise.race([running, late])
  } finally {
    clearTimeout(timer)
  }
}

/** As JSON has it: what is undefined is not there. */
function plain(value: Observation): Observation {
  return JSON.parse(JSON.stringify(value ?? null))
}

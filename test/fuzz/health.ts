import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../support/files.ts'
import { Background, until } from '../support/process.ts'
import type { Server } from '../support/server.ts'

/** What makes a node under test measure itself (node-probe.mjs) and write that into `directory`. */
export function nodeProbe(directory: string): Record<string, string> {
  return { PROBE_DIRECTORY: directory, NODE_OPTIONS: `--import=${join(root, 'test', 'fuzz', 'node-probe.mjs')}` }
}

/** The longest stall so far in milliseconds. */
export async function longestStallMs(directory: string): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 500)) // it writes a few times a second
  return Number(readFileSync(join(directory, 'stall'), 'utf8'))
}

/** Bytes that are alive in the node after a full garbage collection, a moment after it was last asked something. */
export async function liveBytes(server: Server, directory: string): Promise<number> {
  // Closed connections and parked requests have their deadlines.
  await new Promise((resolve) => setTimeout(resolve, 3000))
  const file = join(directory, 'memory')
  rmSync(file, { force: true })
  server.process.signal('SIGUSR2')
  return until(
    'the node has measured its memory',
    () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : null),
    {
      timeoutMs: 10_000,
    },
  )
}

export class Prober {
  #process: Background

  constructor(server: Server, directory: string) {
    this.#process = new Background('prober', process.execPath, [join(root, 'test/fuzz/prober.ts'), server.address], {
      outputFile: join(directory, 'prober.out'),
    })
  }

  async finish(): Promise<{ longest: number; median: number }> {
    await this.#process.stop()
    return JSON.parse(this.#process.output()) as { longest: number; median: number }
  }
}

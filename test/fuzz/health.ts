import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { residentBytes } from '../../bench/process-stats.ts'
import { root } from '../support/files.ts'
import { Background } from '../support/process.ts'
import type { Server } from '../support/server.ts'

/** What makes a node under test measure its own stalls into `file`. */
export function stallProbe(file: string): Record<string, string> {
  return { STALL_FILE: file, NODE_OPTIONS: `--import=${join(root, 'test', 'fuzz', 'stall-probe.mjs')}` }
}

/** The longest stall so far in milliseconds; null when the node does not measure it. */
export async function longestStallMs(file: string): Promise<number | null> {
  await new Promise((resolve) => setTimeout(resolve, 500)) // it writes a few times a second
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : null
}

/** Resident memory after a pause in which garbage can be collected. */
export async function settledBytes(server: Server): Promise<number> {
  let least = residentBytes(server.process.pid)
  for (let i = 0; i < 16; i++) {
    await new Promise((resolve) => setTimeout(resolve, 250))
    least = Math.min(least, residentBytes(server.process.pid))
  }
  return least
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

import { get } from 'node:http'
import { join } from 'node:path'
import { residentBytes } from '../../bench/process-stats.ts'
import { root } from '../support/files.ts'
import { Background } from '../support/process.ts'
import type { Server } from '../support/server.ts'

/** Longest stall of the node's event loop since it was last asked, by its own measure; null when it tells none. */
export async function longestStallMs(server: Server): Promise<number | null> {
  if (server.kind === 'kafka') return null
  const text = await new Promise<string>((resolve, reject) => {
    get(`http://${server.httpAddress}/metrics`, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve(Buffer.concat(chunks).toString()))
    }).on('error', reject)
  })
  const seconds =
    /^\w*(?:eventloop_lag_max|event_loop_delay_max|event_loop_stall_max)_seconds(?:\{[^}]*\})? ([\d.e+-]+)/m.exec(
      text,
    )?.[1]
  return seconds === undefined ? null : Number(seconds) * 1000
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

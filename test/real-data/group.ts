import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { Background } from '../support/process.ts'
import { type ClientName, startMember } from './members.ts'
import { Seen } from './verify.ts'

interface Member {
  readonly process: Background
  /** Bytes of its output that were read. */
  position: number
  /** The beginning of a line whose end is still to come. A killed member leaves one for ever. */
  rest: string
  rows: number
}

/** A group of real clients, one process a member; the harness reads what they print while they run. */
export class Group {
  readonly seen = new Seen()
  #members: Member[] = []
  #options: { client: ClientName; address: string; group: string; topic: string; directory: string }
  #started = 0

  constructor(options: { client: ClientName; address: string; group: string; topic: string; directory: string }) {
    this.#options = options
  }

  add(): void {
    const { client, directory, group } = this.#options
    const name = `${group}-${++this.#started}`
    const process = startMember({
      ...this.#options,
      client,
      outputFile: join(directory, `${name}.rows`),
      errorFile: join(directory, `${name}.errors`),
    })
    this.#members.push({ process, position: 0, rest: '', rows: 0 })
  }

  /** `kill -9` of the running member that has read most. */
  async killBusiest(): Promise<void> {
    const [busiest] = this.#running().sort((a, b) => b.rows - a.rows)
    await busiest?.process.kill()
  }

  /** One member leaves politely. */
  async stopOne(): Promise<void> {
    await this.#running()[0]?.process.stop()
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.#running().map(({ process }) => process.stop()))
  }

  /** Rows that each member has read, in the order of their start. */
  get shares(): number[] {
    return this.#members.map(({ rows }) => rows)
  }

  /** Waits until `count` different records were read. */
  async reaches(count: number, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      this.#collect()
      if (this.seen.count >= count) return
      if (this.#running().length === 0) throw new Error(`all members have ended at ${this.seen.count} rows`)
      if (performance.now() > deadline) {
        throw new Error(`${this.seen.count} of ${count} rows after ${timeoutMs} ms; logs in ${this.#options.directory}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  #running(): Member[] {
    return this.#members.filter(({ process }) => !process.hasEnded)
  }

  #collect(): void {
    for (const member of this.#members) {
      const text = member.rest + readFrom(member.process.outputFile, member)
      const lines = text.split('\n')
      member.rest = lines.pop() ?? ''
      for (const line of lines) {
        const [partition = '', offset = '', key = '', ...value] = line.split('\t')
        if (!partition.startsWith('Partition:') || !offset.startsWith('Offset:')) continue // a notice of the tool
        member.rows++
        this.seen.add({
          partition: Number(partition.slice(10)),
          offset: Number(offset.slice(7)),
          key: key === 'null' ? null : key,
          value: value.join('\t'),
        })
      }
    }
  }
}

function readFrom(file: string, state: { position: number }): string {
  const descriptor = openSync(file, 'r')
  const pieces: Buffer[] = []
  try {
    for (;;) {
      const buffer = Buffer.allocUnsafe(256 * 1024)
      const length = readSync(descriptor, buffer, 0, buffer.length, state.position)
      if (length === 0) return Buffer.concat(pieces).toString()
      pieces.push(buffer.subarray(0, length))
      state.position += length
    }
  } finally {
    closeSync(descriptor)
  }
}

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../support/files.ts'
import { track } from '../support/process.ts'
import { pythonPath } from '../support/toolchain.ts'

export interface Acknowledged {
  readonly partition: number
  /** -1 when the client was told only that the record is there. */
  readonly offset: number
  readonly number: number
}

/** A real idempotent producer that never stops by itself; what was acknowledged to it is collected here. */
export class Load {
  readonly acknowledged: Acknowledged[] = []
  readonly failures: string[] = []
  /** Set when it has ended: how many records it sent in all. */
  sent: number | null = null
  #child
  #ended: Promise<void>

  constructor(address: string, topic: string, options: { partitions: number; perSecond: number; valueBytes: number }) {
    const { partitions, perSecond, valueBytes } = options
    const args = [address, topic, partitions, perSecond, valueBytes].map(String)
    this.#child = spawn(pythonPath(), [join(root, 'test', 'crash', 'producer.py'), ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    track(this.#child)
    const lines = createInterface({ input: this.#child.stdout })
    lines.on('line', (line) => this.#onLine(line))
    this.#ended = new Promise((resolve) => lines.once('close', resolve))
    this.#child.once('close', (code) => {
      if (code !== 0) this.failures.push(`the producer ended with ${code}`)
    })
  }

  #onLine(line: string): void {
    const words = line.split(' ')
    if (words[0] === 'failed') this.failures.push(line)
    else if (words[0] === 'done') this.sent = Number(words[1])
    else {
      const [partition = -1, offset = -1, number = -1] = words.map(Number)
      this.acknowledged.push({ partition, offset, number })
    }
  }

  /** Resolves when `count` more records were acknowledged than now. */
  async advances(count: number, timeoutMs: number): Promise<void> {
    const goal = this.acknowledged.length + count
    const deadline = performance.now() + timeoutMs
    while (this.acknowledged.length < goal) {
      if (this.failures.length > 0) throw new Error(`the producer failed: ${this.failures.slice(0, 3).join('; ')}`)
      if (performance.now() > deadline) throw new Error(`no ${count} records acknowledged within ${timeoutMs} ms`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  /** Lets it deliver what it has queued, and ends it. */
  async finish(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#ended
    if (this.failures.length > 0) throw new Error(`the producer failed: ${this.failures.slice(0, 3).join('; ')}`)
  }
}

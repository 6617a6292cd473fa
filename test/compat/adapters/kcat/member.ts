import { type ChildProcess, spawn } from 'node:child_process'
import type { Answer, RecordOut, Subscription, TopicPartitionName } from '../../protocol.ts'
import { Inbox } from '../node/serve.ts'
import { failureIn } from './process.ts'
import { readByLength } from './reading.ts'

/** A kcat that is a member of a group. Its partitions are read from what it says of rebalances. */
export class Member {
  readonly #child: ChildProcess
  readonly #inbox = new Inbox<RecordOut>()
  readonly #ended: Promise<void>
  #assignment: TopicPartitionName[] = []
  #output: Buffer = Buffer.alloc(0)
  #errors = ''
  #isClosing = false

  constructor(bootstrap: string, { group, topics, reset, instanceId, sessionTimeoutMs }: Subscription) {
    const settings = {
      'auto.offset.reset': reset,
      'enable.auto.commit': 'false',
      'session.timeout.ms': sessionTimeoutMs,
      'heartbeat.interval.ms': Math.min(500, Math.floor(sessionTimeoutMs / 3)),
      ...(instanceId === undefined ? {} : { 'group.instance.id': instanceId }),
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-X', `${name}=${value}`])
    const args = ['-b', bootstrap, ...options, '-u', '-f', readByLength.format, '-G', group, ...topics]
    const child = spawn('kcat', args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    child.stdout.on('data', (chunk: Buffer) => this.#onOutput(chunk))
    child.stderr.on('data', (chunk: Buffer) => this.#onErrors(chunk.toString()))
    this.#ended = new Promise((resolve) => {
      child.once('close', (code) => {
        if (!this.#isClosing) this.#inbox.fail(failureIn(this.#errors, code ?? -1))
        resolve()
      })
    })
  }

  #onOutput(chunk: Buffer): void {
    const { records, rest } = readByLength.some(Buffer.concat([this.#output, chunk]))
    this.#output = rest
    for (const record of records) this.#inbox.put({ ...record, headers: [] })
  }

  /** `% Group g rebalanced (memberid m): assigned: t [0], t [1]`, or `revoked: …`. */
  #onErrors(text: string): void {
    this.#errors += text
    const told = [...this.#errors.matchAll(/rebalanced \(memberid [^)]*\): (assigned|revoked): (.*)\n/g)].at(-1)
    if (told === undefined) return
    const places = [...(told[2] ?? '').matchAll(/(\S+) \[(\d+)\]/g)]
    const assigned = places.map(([, topic = '', partition]) => ({ topic, partition: Number(partition) }))
    this.#assignment = told[1] === 'assigned' ? assigned : []
  }

  async poll(forMs: number, max: number): Promise<Answer<'poll'>> {
    return { records: await this.#inbox.take(max, forMs), assignment: this.#assignment }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#child.kill('SIGTERM')
    await this.#ended
  }
}

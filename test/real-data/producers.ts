import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { toolArguments } from '../support/kafka-oracle.ts'
import { track } from '../support/process.ts'
import type { Row } from './rows.ts'

export type ProducerName = 'kcat' | 'java'

/** Idempotent, and patient enough to outlast a restart of the node. */
const settings = ['acks=all', 'enable.idempotence=true']

function commandOf(name: ProducerName, address: string, topic: string, keyed: boolean): [string, string[]] {
  if (name === 'kcat') {
    const properties = [...settings, 'message.timeout.ms=120000', 'reconnect.backoff.max.ms=500'].flatMap((p) => [
      '-X',
      p,
    ])
    // -E: goes on when the only broker is down.
    return [
      'kcat',
      ['-P', '-E', '-b', address, '-t', topic, '-z', 'snappy', ...properties, ...(keyed ? ['-K', '\t'] : [])],
    ]
  }
  const properties = [...settings, 'delivery.timeout.ms=120000', 'request.timeout.ms=10000', 'linger.ms=20']
  const args = ['--bootstrap-server', address, '--topic', topic, '--compression-codec', 'zstd']
  args.push('--message-send-max-retries', '2147483647')
  for (const property of properties) args.push('--command-property', property)
  args.push('--reader-property', `parse.key=${keyed}`)
  return ['java', toolArguments('console-producer', args)]
}

/**
 * Feeds all rows to a real client and waits until it has ended. `atRow` is awaited when that many rows were handed over
 * (and runs on while the rest follows, as the world does). Rejects when the client did not deliver all.
 */
export async function produceRows(options: {
  name: ProducerName
  address: string
  topic: string
  rows: readonly Row[]
  outputFile: string
  interlude?: { atRow: number; run: () => Promise<void> }
}): Promise<void> {
  const { rows, interlude } = options
  const keyed = rows[0]?.key !== null
  const [command, args] = commandOf(options.name, options.address, options.topic, keyed)
  const output = openSync(options.outputFile, 'w')
  const child = spawn(command, args, { stdio: ['pipe', output, output] })
  const { stdin } = child
  if (stdin === null) throw new Error('no pipe to the producer')
  closeSync(output)
  track(child)
  const ended = once(child, 'close') as Promise<[number | null]>
  stdin.on('error', () => {}) // told by its exit code

  let running: Promise<void> = Promise.resolve()
  const chunkRows = 500
  for (let at = 0; at < rows.length; at += chunkRows) {
    if (interlude !== undefined && at <= interlude.atRow && interlude.atRow < at + chunkRows) running = interlude.run()
    const lines = rows.slice(at, at + chunkRows).map(({ key, value }) => (key === null ? value : `${key}\t${value}`))
    if (!stdin.write(`${lines.join('\n')}\n`)) await Promise.race([once(stdin, 'drain'), ended])
    if (child.exitCode !== null) break
  }
  stdin.end()
  const [code] = await ended
  await running
  const printed = readFileSync(options.outputFile, 'utf8')
  if (code !== 0 || /delivery failed|ERROR Error when sending/i.test(printed)) {
    throw new Error(`${options.name} did not deliver all rows (exit code ${code}):\n${printed.slice(-3000)}`)
  }
}

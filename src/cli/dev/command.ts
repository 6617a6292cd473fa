import type { Command } from 'commander'
import { collect, withFormat } from '../options.ts'
import type { OutputFormat } from '../output.ts'

export interface DevFlags {
  readonly port?: string
  readonly listen?: string
  readonly http?: string
  readonly topic?: readonly string[]
  /** `key=value`, in the order given. */
  readonly option?: readonly string[]
  readonly format: OutputFormat
}

const EXAMPLES = `
Examples:
  $ millrace dev
  $ millrace dev --port 9092 --topic orders:3 --topic audit:1
  $ millrace dev --format json            # the first line of stdout says where it is
  $ curl -X POST http://127.0.0.1:PORT/clock/advance -d '{"by":"7d"}'

Everything is in memory and gone at the end, which is Ctrl-C, SIGTERM, or that whoever holds the other end of a pipe at
stdin closes it or dies. What the control address takes is in docs/embedding.md.`

export function addDev(program: Command): void {
  withFormat(
    program
      .command('dev')
      .description('run a broker in memory for tests in any language: records, lag, clock and faults by HTTP'),
  )
    .option('--port <n>', 'where clients connect, on loopback (default: a free one)')
    .option('--listen <host:port>', 'the same on another address: 0.0.0.0:9092 in a container')
    .option('--http <host:port>', 'where tests control it (default: a free port of loopback)')
    .option('-t, --topic <name[:partitions]>', 'make this topic; may be repeated', collect)
    .option('-o, --option <key=value>', 'any setting of a node; may be repeated', collect)
    .addHelpText('after', EXAMPLES)
    .action(async (flags: DevFlags) => (await import('./dev.ts')).dev(flags))
}

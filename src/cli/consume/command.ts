import { type Command, Option } from 'commander'
import { withServer } from '../options.ts'

export interface ConsumeFlags {
  readonly server?: string
  readonly format: string
  readonly offset: string
  readonly partitions?: string
  readonly num?: string
  readonly group?: string
  readonly readCommitted?: boolean
}

const EXAMPLES = `
Offsets are those of Redpanda's rpk: start, end, :end, 100, 100:200, :200, +10 (after the start), -10 and -10:end (before the
end), @2026-01-31T12:00:00Z, @-2h, @-2h:-1h, @2026-01-31:1h, @-1m:end. With an end the command ends there, else it reads on.

Formats: %t topic, %p partition, %o offset, %k key, %v value, %d timestamp, %h{%k=%v } headers, %a{compression}, %i number;
modifiers {hex} {base64} {big32} {strftime[%F %T]}; escapes \\n \\t. "json": one JSON object a line.

Examples:
  $ millrace consume orders
  $ millrace consume orders -o -10 -f '%p/%o %k=%v\\n'
  $ millrace consume orders -o @-1h:end -f json
  $ millrace consume orders -g billing -n 100`

export function addConsume(program: Command): void {
  withServer(
    program
      .command('consume')
      .description('read records')
      .argument('<topic...>')
      .option('-o, --offset <offset>', 'where to begin, and where to end; for a new group start or end', 'start')
      .option('-p, --partitions <n,...>', 'only these partitions')
      .option('-n, --num <n>', 'end after so many records')
      .addOption(
        new Option('-f, --format <format>', 'how a record is printed: %-format, or json').default('%v\\n', '%v\\n'),
      )
      .option('-g, --group <group>', 'read as a member of this group, and commit what was printed')
      .option('--read-committed', 'leave out records of transactions that are open or were aborted'),
  )
    .addHelpText('after', EXAMPLES)
    .action(async (topics: string[], flags: ConsumeFlags) => (await import('./consume.ts')).consume(topics, flags))
}

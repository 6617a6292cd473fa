import { type Command, Option } from 'commander'
import { collect, withServer } from '../options.ts'

export interface ProduceFlags {
  readonly server?: string
  readonly format: string
  readonly outputFormat?: string
  readonly key?: string
  readonly header?: readonly string[]
  readonly partition?: string
  readonly compression: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
  readonly acks: 'all' | '1' | '0'
}

const EXAMPLES = `
Formats are those of Redpanda's rpk: %k key, %v value, %t topic, %p partition, %d timestamp, %h{%k=%v;} headers (after %H);
sizes %K %V; modifiers {hex} {base64} {big32} {5}; escapes \\n \\t \\x00. "json" reads one JSON object a line, as
"millrace consume --format json" writes them.

Examples:
  $ echo hello | millrace produce orders
  $ printf 'k1:one\\nk2:two\\n' | millrace produce orders -f '%k:%v\\n' -o 'partition %p offset %o\\n'
  $ millrace consume old -f json -o :end | millrace produce new -f json`

export function addProduce(program: Command): void {
  withServer(
    program
      .command('produce')
      .description('send records from standard input')
      .argument('[topic]', 'may be left out when the input names it')
      .addOption(new Option('-f, --format <format>', 'how a record looks: %-format, or json').default('%v\\n', '%v\\n'))
      .option('-o, --output-format <format>', 'print each record when it is acknowledged (%t %p %o %d, or json)')
      .option('-k, --key <key>', 'key of every record that brings none')
      .option('-H, --header <key:value>', 'a header on every record; may be repeated', collect)
      .option('-p, --partition <n>', 'partition of every record that names none (default: by key)')
      .addOption(
        new Option('-z, --compression <codec>').choices(['none', 'gzip', 'snappy', 'lz4', 'zstd']).default('none'),
      )
      .addOption(new Option('--acks <acks>', 'who must have a record').choices(['all', '1', '0']).default('all')),
  )
    .addHelpText('after', EXAMPLES)
    .action(async (topic: string | undefined, flags: ProduceFlags) => {
      await (await import('./produce.ts')).produce(topic ?? null, flags)
    })
}

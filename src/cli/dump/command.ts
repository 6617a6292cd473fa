import { type Command, Option } from 'commander'

export interface DumpFlags {
  readonly format: 'text' | 'json'
  readonly as?: string
  readonly records?: boolean
  readonly limit?: string
}

const KINDS = ['log', 'metadata', 'offsets', 'index', 'timeindex', 'txnindex', 'snapshot', 'text']

const EXAMPLES = `
Examples:
  $ millrace dump millrace-data/orders-0/00000000000000000000.log --records
  $ millrace dump millrace-data/__cluster_metadata-0/*.log
  $ millrace dump millrace-data/__consumer_offsets-*/*.log --format json
  $ millrace dump millrace-data/orders-0/leader-epoch-checkpoint

The folder may belong to a running node, or to Apache Kafka: nothing is written.`

export function addDump(program: Command): void {
  program
    .command('dump')
    .description(
      'show what is in the files of a data folder: segments, indexes, metadata, offsets, checkpoints, snapshots',
    )
    .argument('<file...>')
    .option('--records', 'show the records of a segment too, not only its batches')
    .addOption(new Option('--as <kind>', 'read the file as this kind (default: by its name)').choices(KINDS))
    .option('--limit <n>', 'stop after so many lines')
    .addOption(new Option('--format <format>').choices(['text', 'json']).default('text'))
    .addHelpText('after', EXAMPLES)
    .action(async (files: string[], flags: DumpFlags) => {
      const { dump } = await import('./dump.ts')
      await dump(files, flags)
    })
}

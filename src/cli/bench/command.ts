import { type Command, Option } from 'commander'
import { collect, withFormat, withServer } from '../options.ts'
import type { OutputFormat } from '../output.ts'

export interface BenchFlags {
  readonly server?: string
  readonly topic?: string
  readonly records?: string
  readonly seconds?: string
  readonly size: string
  readonly rate?: string
  readonly partitions: string
  readonly replicas?: string
  readonly config?: readonly string[]
  readonly compression: string
  readonly acks: string
  readonly lingerMs?: string
  readonly batchBytes: string
  readonly format: OutputFormat
}

const EXAMPLES = `
Examples:
  $ millrace bench produce                                 # as fast as it goes, for ten seconds
  $ millrace bench produce --size 100 --partitions 6 --compression lz4 --seconds 30
  $ millrace bench e2e --rate 10000 --linger-ms 0          # from send to receipt, at a rate
  $ millrace bench consume --records 1000000
  $ millrace bench produce --format json > measured.json   # for millrace estimate --measured

Client and command are one process: it needs a core of its own. Without --topic a topic is made, and removed at the end.
Sizes and rates take decimal prefixes: 1KB, 50k.`

export function addBench(program: Command): void {
  const bench = program
    .command('bench')
    .description('measure a cluster with our own client')
    .addHelpText('after', EXAMPLES)
  const verb = (name: string, description: string) =>
    withFormat(withServer(bench.command(name).description(description)))
      .option('-t, --topic <name>', 'an existing topic; what is written stays there')
      .option('--records <n>', 'end after so many')
      .option('--seconds <n>', 'end after so long (default: 10)')
      .option('--size <bytes>', 'of a value', '1KB')
      .option('--rate <records>', 'records a second (default: as many as it takes; e2e: 1000)')
      .option('-p, --partitions <n>', 'of the topic that is made', '6')
      .option('-r, --replicas <n>', "of the topic that is made (default: the cluster's)")
      .option('-c, --config <key=value>', 'a setting of the topic that is made; may be repeated', collect)
      .addOption(
        new Option('-z, --compression <codec>').choices(['none', 'gzip', 'snappy', 'lz4', 'zstd']).default('none'),
      )
      .addOption(new Option('--acks <n>').choices(['all', '1', '0']).default('all'))
      .option('--linger-ms <n>', 'how long a batch waits for more (default: 5; e2e: 0)')
      .option('--batch-bytes <bytes>', 'of one batch before compression', '64KB')

  verb('produce', 'send records; latency is from send to acknowledgement').action(async (flags: BenchFlags) =>
    (await import('./bench.ts')).bench('produce', flags),
  )
  verb('consume', 'read records; where it made the topic, it fills it first').action(async (flags: BenchFlags) =>
    (await import('./bench.ts')).bench('consume', flags),
  )
  verb('e2e', 'send and read at a rate; latency is from send to receipt').action(async (flags: BenchFlags) =>
    (await import('./bench.ts')).bench('e2e', flags),
  )
}

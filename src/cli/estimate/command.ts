import { type Command, Option } from 'commander'

export interface EstimateFlags {
  readonly rate: string
  readonly size: string
  readonly retention: string
  readonly rf: string
  readonly groups: string
  readonly mean: string
  readonly compression: string
  readonly tierAfter?: string
  readonly disk: string
  readonly writeRate: string
  readonly partitionRate: string
  readonly measured?: string
  readonly measure?: boolean
  readonly format: 'text' | 'json'
}

const EXAMPLES = `
Examples:
  $ millrace estimate --rate 2M --size 1KB --retention 7d --rf 3
  $ millrace estimate --rate 50k --size 400 --retention 30d --compression 4 --tier-after 1d
  $ millrace estimate --rate 2M --size 1KB --retention 7d --disk 8TB --write-rate 400MB/s --format json
  $ millrace bench produce --format json > m.json; millrace estimate --rate 50k --size 1KB --retention 7d --measured m.json

Prefixes are powers of ten. Storage follows the mean rate, speed the peak. The limits of a host are those of a machine with
spinning disks or a small share of a network disk: measure yours, and say so.`

export function addEstimate(program: Command): void {
  program
    .command('estimate')
    .description('how much traffic, storage and how many hosts a workload needs, each figure with its formula')
    .requiredOption('--rate <records>', 'records a second at the busiest time: 2M, 50k')
    .requiredOption('--size <bytes>', 'mean size of a record: 1KB, 400')
    .requiredOption('--retention <time>', 'how long records are kept: 7d, 36h')
    .option('--rf <n>', 'copies of each partition', '3')
    .option('--groups <n>', 'consumer groups that read everything', '3')
    .option('--mean <percent>', 'mean rate over the retention, in percent of the peak', '50')
    .option('--compression <factor>', 'how many times smaller the producers make their batches', '1')
    .option('--tier-after <time>', 'when records move to an object store (default: never)')
    .option('--disk <bytes>', 'disk of a host', '24TB')
    .option('--write-rate <bytes>', 'what the disks of a host take a second, for hours', '150MB/s')
    .option('--partition-rate <bytes>', 'what one partition takes a second', '10MB/s')
    .option('--measured <file>', 'the same with the rates in this file, which millrace bench --format json printed')
    .option('--measure', 'the same with the rates of a node that is run here for some seconds')
    .addOption(new Option('--format <format>').choices(['text', 'json']).default('text'))
    .addHelpText('after', EXAMPLES)
    .action(async (flags: EstimateFlags) => (await import('./estimate.ts')).estimate(flags))
}

import type { Command } from 'commander'
import { withFormat, withServer } from '../options.ts'
import type { OutputFormat } from '../output.ts'

export interface DoctorFlags {
  readonly server?: string
  readonly bootstrap?: string
  readonly data?: string
  readonly format: OutputFormat
}

const EXAMPLES = `
Examples:
  $ millrace doctor                                  # the cluster, as a client on this machine meets it
  $ millrace doctor --bootstrap 10.0.0.1:9092
  $ millrace doctor --data /var/lib/millrace         # a data folder and the machine under it, no cluster needed
  $ millrace doctor --data /var/lib/millrace --bootstrap 10.0.0.1:9092

Each line is ok, warn or fail; the exit code is 1 when something fails. With --data it writes some hundred small blocks to a
file of its own in the folder, to measure how long the disk takes, and removes it.`

export function addDoctor(program: Command): void {
  withFormat(
    withServer(
      program
        .command('doctor')
        .description('look for what will go wrong: addresses, disks, clocks, limits, versions; and say what to do'),
    ),
  )
    .option('--bootstrap <host:port,...>', 'the same as --server')
    .option('--data <dir>', 'look at this data folder; then the cluster is asked only if a server is named')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: DoctorFlags) => (await import('./doctor.ts')).doctor(flags))
}

import { type Command, Option } from 'commander'
import { collect } from '../options.ts'

/** What `millrace start` takes, as commander parsed it. */
export interface StartFlags {
  readonly data?: string
  readonly listen?: string
  readonly controllerListen?: string
  readonly advertise?: string
  readonly http?: string
  readonly nodeId?: string
  readonly join?: string
  readonly nodes?: string
  /** Run by a process that watches this one. */
  readonly supervised?: boolean
  readonly roles?: string
  readonly zone?: string
  readonly config?: string
  /** `key=value`, in the order given. */
  readonly option?: readonly string[]
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error'
  readonly logFormat?: 'text' | 'json'
}

const EXAMPLES = `
Examples:
  $ millrace start
  $ millrace start --data /var/lib/millrace --listen 0.0.0.0:9092
  $ millrace start --nodes 3 --data cluster-data
  $ millrace start --join 10.0.0.1:9092 --listen 10.0.0.2:9092 --controller-listen 10.0.0.2:9093
  $ millrace start --config server.properties -o log.retention.ms=86400000

Settings come from flags, then KAFKA_* and MILLRACE_* environment variables (KAFKA_LOG_RETENTION_MS=...), then the
file, then Kafka's defaults. The keys are Kafka's.`

export function addStart(program: Command): void {
  program
    .command('start')
    .description('run a node: broker and controller in one process')
    .option('--data <dir>', 'where everything is kept (default: ./millrace-data)')
    .option('--listen <host:port>', 'where clients and brokers connect (default: 127.0.0.1:9092)')
    .option('--advertise <host:port>', 'the address told to clients (default: the one each client used)')
    .option('--controller-listen <host:port>', 'where the quorum listens (default: 127.0.0.1:9093)')
    .option('--http <host:port>', 'metrics and health; "off" for none (default: 127.0.0.1:9644)')
    .option('--join <host:port,...>', 'become one of the cluster of these nodes; any node, any listener')
    .option('--node-id <n>', 'number of this node in its cluster (default: the next free one)')
    .option('--nodes <n>', 'run so many nodes of the cluster on this host, a process each')
    .addOption(new Option('--supervised').hideHelp())
    .option('--roles <list>', 'broker, controller or both (default: both, broker where three controllers are)')
    .option('--zone <name>', 'failure zone; copies spread over zones (broker.rack); with --nodes a list, in turn')
    .option('--config <file>', 'server.properties, or YAML with the same names')
    .option('-o, --option <key=value>', 'any setting; may be repeated', collect)
    .addOption(new Option('--log-level <level>', 'default: info').choices(['debug', 'info', 'warn', 'error']))
    .addOption(new Option('--log-format <format>', 'default: text on a terminal').choices(['text', 'json']))
    .addHelpText('after', EXAMPLES)
    .action(async (flags: StartFlags) => {
      const { start } = await import('./start.ts')
      await start(flags)
    })
}

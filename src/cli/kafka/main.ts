import { ClientError } from '../../rpc/errors.ts'
import { UsageError } from '../../client/errors.ts'
import { FlagError, Flags } from './flags.ts'
import { CommandFailure, err, out, type Tool, ToolExit } from './tool.ts'

/** The release whose flags and columns are followed. */
const KAFKA_VERSION = '4.4.0'

const TOOLS: Readonly<Record<string, () => Promise<Tool>>> = {
  'kafka-topics': async () => (await import('./topics.ts')).topicsTool,
  'kafka-configs': async () => (await import('./configs.ts')).configsTool,
  'kafka-consumer-groups': async () => (await import('./groups.ts')).groupsTool,
  'kafka-console-producer': async () => (await import('./console-producer.ts')).consoleProducerTool,
  'kafka-console-consumer': async () => (await import('./console-consumer.ts')).consoleConsumerTool,
}

/** Runs one of Kafka's shell tools: its flags, its columns, its exit codes. */
export async function runKafkaTool(name: string, args: readonly string[]): Promise<number> {
  const tool = await TOOLS[name]?.()
  if (tool === undefined) throw new TypeError(`no tool ${name}`)
  if (args.includes('--version')) {
    await out(`${KAFKA_VERSION}\n`)
    return 0
  }
  if (args.length === 0 || args.includes('--help')) {
    await out(`${helpOf(name, tool)}\n`)
    return args.length === 0 ? 1 : 0
  }
  try {
    return await tool.run(new Flags(tool.kinds, args), args)
  } catch (error) {
    return await ended(error)
  }
}

export async function flagsOfKafkaTool(name: string): Promise<string[]> {
  const tool = await TOOLS[name]?.()
  return Object.keys(tool?.kinds ?? {})
    .toSorted()
    .map((flag) => `--${flag}`)
}

async function ended(error: unknown): Promise<number> {
  if (error instanceof ToolExit) {
    if (error.stream === 'stdout') await out(`${error.message}\n`)
    else err(`${error.message}\n`)
    return error.code
  }
  if (
    error instanceof FlagError ||
    error instanceof CommandFailure ||
    error instanceof ClientError ||
    error instanceof UsageError
  ) {
    err(`${error.message}\n`)
    return 1
  }
  throw error
}

function helpOf(name: string, { kinds }: Tool): string {
  const shown = { switch: '', value: ' <text>', optional: ' [text]', int: ' <number>', long: ' <number>' }
  const lines = Object.entries(kinds)
    .filter(([flag]) => flag !== 'help' && flag !== 'version')
    .map(([flag, kind]) => `  --${flag}${shown[kind]}`)
  return [
    `${name}: takes the options of Apache Kafka ${KAFKA_VERSION}'s tool of this name, and prints what it prints.`,
    ...lines.toSorted(),
    '  --help',
    '  --version',
  ].join('\n')
}

import { Command, CommanderError } from 'commander'
import { CommandError, ExitCode } from './exit-code.ts'
import { addBench } from './bench/command.ts'
import { addCluster } from './cluster/command.ts'
import { addCompletion } from './completion/command.ts'
import { addConsume } from './consume/command.ts'
import { addDev } from './dev/command.ts'
import { addDoctor } from './doctor/command.ts'
import { addDump } from './dump/command.ts'
import { addEstimate } from './estimate/command.ts'
import { addExplain } from './explain/command.ts'
import { addGroup } from './group/command.ts'
import { addProduce } from './produce/command.ts'
import { addStart } from './start/command.ts'
import { addTopic } from './topic/command.ts'
import { KAFKA_TOOLS } from './kafka/names.ts'
import { behindVerb, type LeadingOptions, leadingOptions } from './leading-options.ts'
import { VERSION } from './version.ts'

const AFTER_HELP = `
Kafka's own tools, with their options and output; also by links of these names to millrace:
  ${KAFKA_TOOLS.join('\n  ')}

-s HOST:PORT and --format may stand in front of a command, too; all other options stand behind it.

Exit codes: 0 done, 1 the command failed, 2 wrong usage or configuration, 3 the data folder was refused,
4 an address cannot be bound, 5 no answer from the cluster, 70 a bug in Millrace.`

/** Runs one command line and returns the process's exit code. Verbs load their own code only when they are run. */
export async function run(argv: readonly string[]): Promise<number> {
  const [first = '', ...rest] = argv
  const tool = toolOf(first)
  if (KAFKA_TOOLS.includes(tool)) return (await import('./kafka/main.ts')).runKafkaTool(tool, rest)
  const program = commands()
  try {
    const line = leadingOptions(program, argv)
    refuseTool(line)
    await program.parseAsync(behindVerb(line), { from: 'user' })
    return ExitCode.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage
    if (!(error instanceof CommandError)) throw error
    process.stderr.write(`millrace: ${error.message}\n`)
    return error.code
  }
}

function toolOf(word: string): string {
  return word.replace(/\.sh$/, '')
}

/** One of Kafka's tools behind an option of ours, or one that is not here. */
function refuseTool({ words: [first = ''] }: LeadingOptions): void {
  const tool = toolOf(first)
  if (!tool.startsWith('kafka-')) return
  const text = KAFKA_TOOLS.includes(tool)
    ? `${tool} stands first, and has the options of Kafka's: millrace ${tool} --bootstrap-server HOST:PORT`
    : `${tool.slice(0, 100)} is none of Kafka's tools that this can be: ${KAFKA_TOOLS.join(', ')}`
  throw new CommandError(ExitCode.usage, text)
}

function commands(): Command {
  const program = new Command('millrace')
    .description('A shared, durable message log that speaks the Kafka protocol.')
    .addHelpText('after', AFTER_HELP)
    .version(VERSION)
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'millrace: ')) })
    .showSuggestionAfterError()
  addStart(program)
  addTopic(program)
  addProduce(program)
  addConsume(program)
  addGroup(program)
  addBench(program)
  addCluster(program)
  addDev(program)
  addDoctor(program)
  addDump(program)
  addEstimate(program)
  addExplain(program)
  addCompletion(program)
  return program
}

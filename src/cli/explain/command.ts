import type { Command } from 'commander'
import { withFormat, withServer } from '../options.ts'
import type { OutputFormat } from '../output.ts'

export interface ExplainErrorFlags {
  readonly format: OutputFormat
}

export interface ExplainConfigFlags extends ExplainErrorFlags {
  readonly server?: string
  readonly topic?: string
  readonly node?: string
}

const ERROR_EXAMPLES = `
Examples:
  $ millrace explain NOT_ENOUGH_REPLICAS
  $ millrace explain 19`

const CONFIG_EXAMPLES = `
Examples:
  $ millrace config explain retention.ms
  $ millrace config explain retention.ms --topic orders     # what it is there, and why
  $ millrace config explain log.retention.ms --node 1`

export function addExplain(program: Command): void {
  withFormat(program.command('explain').description('say what an error of the protocol means'))
    .argument('<error>', 'its name or number')
    .addHelpText('after', ERROR_EXAMPLES)
    .action(async (word: string, flags: ExplainErrorFlags) => (await import('./error.ts')).explainError(word, flags))

  const config = program.command('config').description('settings of topics, nodes and groups')
  withFormat(
    withServer(config.command('explain').description('say what a setting does, and where its value comes from')),
  )
    .argument('<key>')
    .option('-t, --topic <name>', 'also the value that holds for this topic, and what stands behind it')
    .option('-n, --node <n>', 'the same for a node')
    .addHelpText('after', CONFIG_EXAMPLES)
    .action(async (key: string, flags: ExplainConfigFlags) => (await import('./config.ts')).explainConfig(key, flags))
}

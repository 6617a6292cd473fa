import type { Command } from 'commander'
import { collect, withFormat, withServer } from '../options.ts'
import type { OutputFormat } from '../output.ts'

export interface TopicFlags {
  readonly server?: string
  readonly format: OutputFormat
  readonly partitions?: string
  readonly replicas?: string
  readonly config?: readonly string[]
  readonly deleteConfig?: readonly string[]
  readonly ifNotExists?: boolean
  readonly internal?: boolean
  readonly all?: boolean
  readonly yes?: boolean
  readonly before?: string
}

export function addTopic(program: Command): void {
  const topic = program.command('topic').description('create, list, describe, change, trim and remove topics')
  const verb = (name: string, description: string) =>
    withFormat(withServer(topic.command(name).description(description)))

  verb('create', 'create topics')
    .argument('<name...>')
    .option('-p, --partitions <n>', "number of partitions (default: the cluster's)")
    .option('-r, --replicas <n>', "copies of each partition (default: the cluster's)")
    .option('-c, --config <key=value>', 'a topic setting; may be repeated', collect)
    .option('--if-not-exists', 'a topic that exists already is no failure')
    .addHelpText(
      'after',
      examples(
        'topic create orders -p 6 -c retention.ms=86400000',
        'topic create audit -r 3 -c durability.mode=fsync -c min.insync.replicas=2',
      ),
    )
    .action(async (names: string[], flags: TopicFlags) => (await import('./create.ts')).createTopics(names, flags))

  verb('ls', 'list topics')
    .alias('list')
    .option('--internal', "also the cluster's own topics")
    .addHelpText('after', examples('topic ls', 'topic ls --format json'))
    .action(async (flags: TopicFlags) => (await import('./list.ts')).listTopics(flags))

  verb('describe', 'show partitions, sizes and settings of topics')
    .argument('<name...>')
    .option('--all', 'also settings that have their default value')
    .addHelpText('after', examples('topic describe orders', 'topic describe orders --all --format json'))
    .action(async (names: string[], flags: TopicFlags) => (await import('./describe.ts')).describeTopics(names, flags))

  verb('alter', 'change settings, or add partitions')
    .argument('<name>')
    .option('-p, --partitions <n>', 'new number of partitions; keys will go to other partitions than before')
    .option('-c, --config <key=value>', 'set a topic setting; may be repeated', collect)
    .option('-d, --delete-config <key>', 'back to the default; may be repeated', collect)
    .addHelpText(
      'after',
      examples('topic alter orders -c retention.ms=3600000', 'topic alter orders -d retention.ms -p 12'),
    )
    .action(async (name: string, flags: TopicFlags) => (await import('./alter.ts')).alterTopic(name, flags))

  verb('rm', 'remove topics with all their records')
    .alias('delete')
    .argument('<name...>')
    .option('-y, --yes', 'do it; without this it is only shown what would be lost')
    .addHelpText('after', examples('topic rm orders', 'topic rm orders --yes'))
    .action(async (names: string[], flags: TopicFlags) => (await import('./remove.ts')).removeTopics(names, flags))

  verb('trim', 'remove the oldest records of a topic: first shows what that means, then does it with --yes')
    .argument('<topic>')
    .requiredOption('--before <where>', 'an offset, a time (2h = that long ago, 2026-01-31T12:00:00Z), or latest')
    .option('-p, --partitions <n,...>', 'only these partitions')
    .option('-y, --yes', 'do it')
    .addHelpText('after', examples('topic trim orders --before 7d', 'topic trim orders --before 1000 -p 0 --yes'))
    .action(async (name: string, flags: TopicFlags) => (await import('./trim.ts')).trimTopic(name, flags))

  verb('stats', 'show how much is in topics, how fast it comes, how evenly, and how soon it goes')
    .argument('<topic...>')
    .addHelpText('after', examples('topic stats orders', 'topic stats orders audit --format json'))
    .action(async (names: string[], flags: TopicFlags) => (await import('./stats.ts')).showStats(names, flags))
}

function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ millrace ${line}`).join('\n')}`
}

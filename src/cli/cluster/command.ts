import type { Command } from 'commander'
import { withFormat, withServer } from '../options.ts'
import type { OutputFormat } from '../output.ts'

export interface ClusterFlags {
  readonly server?: string
  readonly format: OutputFormat
  readonly yes?: boolean
  readonly to?: string
  readonly cancel?: boolean
  readonly remove?: boolean
  readonly unclean?: boolean
}

export function addCluster(program: Command): void {
  const cluster = program.command('cluster').description('how the cluster is, where its records lie, who leads')
  const verb = (name: string, description: string) =>
    withFormat(withServer(cluster.command(name).description(description)))

  verb('status', 'what is wrong, and since when; exit code 1 when something is')
    .addHelpText('after', examples('cluster status', 'cluster status --format json'))
    .action(async (flags: ClusterFlags) => (await import('./status.ts')).showStatus(flags))

  verb('nodes', 'the nodes, with what they hold')
    .alias('ls')
    .addHelpText('after', examples('cluster nodes'))
    .action(async (flags: ClusterFlags) => (await import('./nodes.ts')).showNodes(flags))

  verb('quorum', 'the controllers, who leads them, and how far everybody has read')
    .addHelpText('after', examples('cluster quorum'))
    .action(async (flags: ClusterFlags) => (await import('./quorum.ts')).showQuorum(flags))

  verb('reassign', 'move partitions to other nodes; without arguments: what is being moved')
    .argument('[partition...]', 'a topic, or topic-number for one partition')
    .option('--to <id,id,...>', 'the nodes that are to hold them, evenly, with the fewest moves')
    .option('--cancel', 'give up moves that are under way')
    .option('-y, --yes', 'do it; without this the plan is only shown')
    .addHelpText(
      'after',
      examples('cluster reassign', 'cluster reassign orders --to 1,2,3,4 --yes', 'cluster reassign orders-3 --cancel'),
    )
    .action(async (names: string[], flags: ClusterFlags) => (await import('./reassign.ts')).reassign(names, flags))

  verb('drain', 'move every copy off a node, so that it can be stopped for good')
    .argument('<node>')
    .option('-y, --yes', 'do it; without this the plan is only shown')
    .option('--remove', 'once it is empty and stopped: take it out of the cluster')
    .addHelpText('after', examples('cluster drain 3', 'cluster drain 3 --yes', 'cluster drain 3 --remove --yes'))
    .action(async (node: string, flags: ClusterFlags) => (await import('./drain.ts')).drain(node, flags))

  verb('elect', 'give leadership back to the preferred replica, the first of each partition')
    .argument('[partition...]', 'a topic, or topic-number for one partition (default: all)')
    .option('--unclean', 'where no replica that holds everything is left: any; loses acknowledged records')
    .option('-y, --yes', 'with --unclean: do it')
    .addHelpText('after', examples('cluster elect', 'cluster elect orders-3 --unclean --yes'))
    .action(async (names: string[], flags: ClusterFlags) => (await import('./elect.ts')).elect(names, flags))
}

function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ millrace ${line}`).join('\n')}`
}

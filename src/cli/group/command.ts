import type { Command } from 'commander'
import { collect, withFormat, withServer } from '../options.ts'
import type { OutputFormat } from '../output.ts'

export interface GroupFlags {
  readonly server?: string
  readonly format: OutputFormat
  readonly to?: string
  readonly topic?: readonly string[]
  readonly yes?: boolean
  readonly atRisk?: boolean
}

export function addGroup(program: Command): void {
  const group = program.command('group').description('list, describe, rewind and remove consumer groups')
  const verb = (name: string, description: string) =>
    withFormat(withServer(group.command(name).description(description)))

  verb('ls', 'list groups')
    .alias('list')
    .option('--at-risk', 'only groups that retention is about to take unread records from, or has')
    .addHelpText('after', examples('group ls', 'group ls --at-risk', 'group ls --format json'))
    .action(async (flags: GroupFlags) => (await import('./list.ts')).listGroups(flags))

  verb('describe', 'show members, offsets and lag of groups, in records and time, and what they have lost')
    .argument('<group...>')
    .addHelpText('after', examples('group describe billing'))
    .action(async (groups: string[], flags: GroupFlags) =>
      (await import('./describe.ts')).describeGroups(groups, flags),
    )

  verb('rewind', 'make a group read again (or skip): first shows what that means, then does it with --yes')
    .argument('<group>')
    .requiredOption(
      '--to <where>',
      'earliest, latest, a time (2h = that long ago, 2026-01-31T12:00:00Z, 13 digits), or an offset',
    )
    .option('-t, --topic <topic[:n,...]>', 'only this topic, or these partitions of it; may be repeated', collect)
    .option('-y, --yes', 'do it')
    .addHelpText(
      'after',
      examples('group rewind billing --to 2h', 'group rewind billing --to earliest --topic orders:0,3 --yes'),
    )
    .action(async (name: string, flags: GroupFlags) => (await import('./rewind.ts')).rewindGroup(name, flags))

  verb('rm', 'remove groups with their offsets')
    .alias('delete')
    .argument('<group...>')
    .option('-y, --yes', 'do it; without this it is only shown what would be lost')
    .addHelpText('after', examples('group rm billing --yes'))
    .action(async (groups: string[], flags: GroupFlags) => (await import('./remove.ts')).removeGroups(groups, flags))
}

function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ millrace ${line}`).join('\n')}`
}

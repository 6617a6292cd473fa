import { until } from '../../../support/process.ts'
import type { RunningTool } from '../host.ts'
import type { Transcript } from '../transcript.ts'

const group = 'consumer-groups --group counters'

/** kafka-consumer-groups, and what else tells of groups. */
export async function groups(tools: Transcript): Promise<void> {
  for (const topic of ['numbers', 'letters']) await tools.quietly(`topics --create --topic ${topic} --partitions 2`)
  await none(tools)
  await withMembers(tools)
  await resets(tools)
  await deletion(tools)
}

async function none(tools: Transcript): Promise<void> {
  await tools.run('consumer-groups --list', others)
  await tools.run(`${group} --describe`)
  await tools.run(`${group} --describe --state`)
  await tools.run(`${group} --delete`)
  await tools.run(`${group} --reset-offsets --topic numbers --to-earliest --dry-run`)
  await tools.run(`${group} --delete-offsets --topic numbers`)
}

/** One of two that share `numbers` and one alone with `letters`, all in one group; each has read something. */
async function withMembers(tools: Transcript): Promise<void> {
  const members = ['numbers', 'numbers', 'letters'].map((topic, index) => member(tools, topic, index))
  await until('each member has its part', () => haveParts(tools), { timeoutMs: 30_000, everyMs: 300 })
  await tools.quietly('verifiable-producer --topic numbers --max-messages 20 --repeating-keys 4 --throughput 1000')
  await tools.quietly('verifiable-producer --topic letters --max-messages 6 --repeating-keys 4 --throughput 1000')
  await until('everything is committed', () => isCommitted(tools), { timeoutMs: 30_000, everyMs: 300 })
  await listed(tools)
  await described(tools)
  await tools.run('groups --list', others)
  await tools.run(`${group} --reset-offsets --topic numbers --to-earliest --execute`)
  await tools.run(`${group} --delete`)
  await tools.run(`${group} --delete-offsets --topic numbers`)
  for (const each of members) await each.stop()
  await tools.run(`${group} --describe`)
  await tools.run(`${group} --describe --members`)
  await tools.run(`${group} --describe --state`)
  await tools.run('consumer-groups --list --state', others)
}

function member(tools: Transcript, topic: string, index: number): RunningTool {
  const own = `--command-property client.id=member-${index} --command-property auto.commit.interval.ms=100`
  return tools.start(`console-consumer --topic ${topic} --group counters --from-beginning ${own}`)
}

async function haveParts(tools: Transcript): Promise<true | null> {
  const { stdout } = await tools.start(`${group} --describe --members`).outcome
  const counts = [...stdout.matchAll(/member-(\d)\s+(\d+)\s/g)].map(([, who, count]) => `${who}:${count}`)
  return counts.sort().join() === '0:1,1:1,2:2' ? true : null
}

async function isCommitted(tools: Transcript): Promise<true | null> {
  const { stdout } = await tools.start(`${group} --describe`).outcome
  const lags = [...stdout.matchAll(/^counters\s+\S+\s+\d+\s+(?:\d+|-)\s+\d+\s+(\S+)/gm)].map(([, lag]) => lag)
  return lags.length === 4 && lags.every((lag) => lag === '0') ? true : null
}

async function listed(tools: Transcript): Promise<void> {
  await tools.run('consumer-groups --list', others)
  await tools.run('consumer-groups --list --state', others)
  await tools.run('consumer-groups --list --state stable')
  await tools.run('consumer-groups --list --state dead')
  await tools.run('consumer-groups --list --type classic', others)
  await tools.run('consumer-groups --list --type consumer')
  await tools.run('consumer-groups --list --state sleepy', { mask: [[/(Valid states are:).*/, '$1 …']] })
}

/** Groups without a name that consumers of other cases were in. */
const others = { mask: [[/^console-consumer-.*/, '']] } as const

async function described(tools: Transcript): Promise<void> {
  await tools.run(`${group} --describe`)
  await tools.run(`${group} --describe --offsets --verbose`)
  await tools.run(`${group} --describe --members`)
  await tools.run(`${group} --describe --members --verbose`)
  await tools.run(`${group} --describe --state`)
  await tools.run(`${group} --describe --state --verbose`)
  await tools.run(`${group} --group missing --describe --state`)
}

async function resets(tools: Transcript): Promise<void> {
  const between = new Date().toISOString().slice(0, -1)
  await tools.quietly('verifiable-producer --topic numbers --max-messages 7 --repeating-keys 4 --throughput 1000')
  const ways = [
    ...[
      '--to-earliest',
      '--to-latest',
      '--to-current',
      '--to-offset 5',
      '--to-offset 500',
      '--shift-by 3',
      '--shift-by -2',
    ],
    ...['--shift-by -500', '--by-duration PT1H', '--by-duration PT0S', '--to-datetime 2999-01-01T00:00:00.000'],
    `--to-datetime ${between}`,
  ]
  const mask = [[new RegExp(between, 'g'), 'DATETIME']] as const
  for (const way of ways) {
    for (const scope of ['--topic numbers', '--topic numbers:1', '--all-topics']) {
      await tools.run(`${group} --reset-offsets ${scope} ${way} --dry-run`, { mask })
    }
    await tools.run(`${group} --reset-offsets --topic numbers ${way} --execute`, { mask })
    await tools.run(`${group} --describe`)
  }
  await files(tools)
  await tools.run(`${group} --reset-offsets --topic missing --to-earliest --execute`)
  await tools.run(`${group} --reset-offsets --topic numbers:7 --to-earliest --execute`)
  await tools.run('consumer-groups --group newcomers --reset-offsets --topic letters --to-latest --execute')
  await tools.run('consumer-groups --group counters --group newcomers --describe')
}

async function files(tools: Transcript): Promise<void> {
  const { stdout } = await tools.run(`${group} --reset-offsets --topic numbers --to-offset 4 --dry-run --export`)
  const exported = tools.file('exported.csv', stdout)
  await tools.run(`${group} --reset-offsets --from-file ${exported} --dry-run`)
  await tools.run(`${group} --reset-offsets --from-file ${exported} --execute`)
  await tools.run(`${group} --group others --reset-offsets --topic numbers --to-offset 1 --dry-run --export`)
  const odd = tools.file('odd.csv', 'numbers,0\n')
  await tools.run(`${group} --reset-offsets --from-file ${odd} --dry-run`)
  await tools.run(`${group} --describe`)
}

async function deletion(tools: Transcript): Promise<void> {
  await tools.run(`${group} --delete-offsets --topic letters`)
  await tools.run(`${group} --delete-offsets --topic numbers:1`)
  await tools.run(`${group} --delete-offsets --topic missing`)
  await tools.run(`${group} --describe`)
  await tools.run('consumer-groups --group counters --group newcomers --group missing --delete')
  await tools.run('consumer-groups --list', others)
  await tools.run('groups --list', others)
  await tools.run('share-groups --list')
  await tools.run('streams-groups --list')
}

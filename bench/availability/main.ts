/**
 * `npm run bench -- availability [--minutes 60] [--every 60] [--faults 'kill -9,SIGSTOP'] [--seed 1] [--only kafka|millrace] [--write]`, as root
 *
 * One fault a minute for an hour, the same ones in the same order for Millrace and for three Apache Kafka brokers: in which share of the
 * time the partitions acknowledged, and how long the worst gap of each kind of fault was. It is `npm run chaos` that is run, one
 * side after the other, with a librdkafka and a Java producer, and all its checks.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { ChaosReport } from '../../test/chaos/availability.ts'
import { root, temporaryDirectory } from '../../test/support/files.ts'
import type { ServerKind } from '../../test/support/server.ts'
import { machine, markdownTable, writeBetweenMarks } from '../report.ts'

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '60' },
    every: { type: 'string', default: '60' },
    // What Kafka's own defaults make no promise for (power cuts, full disks) is left to `npm run chaos`.
    faults: { type: 'string', default: 'kill -9,kill -9 of the controller,SIGTERM,SIGSTOP,zone cut off' },
    seed: { type: 'string', default: '1' },
    'per-second': { type: 'string', default: '1000' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
const GOAL = 0.9995
const kinds = (['millrace', 'kafka'] as const).filter((kind) => values.only === undefined || values.only === kind)
const directory = temporaryDirectory('availability')

function measure(kind: ServerKind): ChaosReport {
  const report = join(directory, `${kind}.json`)
  const { minutes, every, faults, seed, 'per-second': perSecond } = values
  const args = ['--server', kind, '--minutes', minutes, '--every', every, '--faults', faults, '--seed', seed]
  args.push('--per-second', perSecond, '--zone-seconds', '0', '--report', report)
  const { status } = spawnSync(process.execPath, [join(root, 'test/chaos/main.ts'), ...args], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`the run of ${kind} ended with ${status}`)
  return JSON.parse(readFileSync(report, 'utf8')) as ChaosReport
}

console.log(machine())
const reports = new Map<ServerKind, ChaosReport>(kinds.map((kind) => [kind, measure(kind)]))
const row = (what: string, cell: (report: ChaosReport) => string, goal = '') => [
  what,
  ...kinds.map((kind) => cell(reports.get(kind) as ChaosReport)),
  goal,
]
const percent = (share: number | undefined) => `${((share ?? Number.NaN) * 100).toFixed(3)} %`
const names = [...new Set([...reports.values()].flatMap(({ byFault }) => byFault.map(({ name }) => name)))]
const rows = [
  row('time that a partition acknowledged', ({ share }) => percent(share), `at least ${percent(GOAL)}`),
  row('records acknowledged within a second', ({ inTime }) => percent(inTime[0])),
  row('records acknowledged within five seconds', ({ inTime }) => percent(inTime[1])),
  ...names.map((name) =>
    row(`${name}: longest gap, ms (times)`, ({ byFault }) => {
      const own = byFault.find((each) => each.name === name)
      return own === undefined ? '' : `${own.longestMs} (${own.times})`
    }),
  ),
]
const text = markdownTable(['what', ...kinds, 'goal'], rows)
console.log(`\n${text}\n`)
if (values.write) {
  const command = `npm run bench -- availability --minutes ${values.minutes} --every ${values.every}`
  writeBetweenMarks('docs/performance.md', 'availability', `\`${command} --write\` on ${machine()}.\n\n${text}`)
}
process.exit()

/**
 * `npm run bench -- failover [--kills 50] [--kafka-kills 50] [--repeats 5] [--faults kill,pause,…] [--only kafka|millrace]
 * [--client java] [--write]`, as root
 *
 * How long a producer gets no acknowledgement while nodes of a cluster of three die, stand still, are cut off or are stopped:
 * Millrace and a real Apache Kafka, each with its default timeouts, each in three network namespaces. The client is the same
 * idempotent librdkafka (or Java, `--client java`) producer with its own defaults; each client has its own table. Only where a node falls silent without closing its connections does
 * the client's own patience decide (a minute by default), so there both sides get a client that waits one second.
 */
import { join } from 'node:path'
import { enterOwnNetwork } from '../../test/cluster/zone-network.ts'
import type { LoadClient } from '../../test/load/load.ts'
import { removeTemporary, temporaryDirectory } from '../../test/support/files.ts'
import { scriptOptions } from '../../test/support/script-options.ts'
import type { ServerKind } from '../../test/support/server.ts'
import { missingTools } from '../../test/support/toolchain.ts'
import { Figures, machine, markdownTable, median, writeBetweenMarks } from '../report.ts'
import { distributionPlot, writePlot } from '../plot.ts'
import { faults } from './faults.ts'
import { Rig } from './rig.ts'

const { values } = scriptOptions(import.meta.filename, {
  allowPositionals: true,
  options: {
    kills: { type: 'string', default: '50' },
    // Kafka needs half a minute for each kill and start: where only its median is wanted, a few say it.
    'kafka-kills': { type: 'string' },
    repeats: { type: 'string', default: '5' },
    faults: { type: 'string', default: Object.keys(faults).join(',') },
    'per-second': { type: 'string', default: '1000' },
    client: { type: 'string', default: 'librdkafka' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
const missing = await missingTools(['kafka', 'python-client', 'network'])
if (missing.length > 0) {
  console.log(`needs ${missing.join(', ')}: npm run tools, as root`)
  process.exit(2)
}
await enterOwnNetwork()
const kinds = (['millrace', 'kafka'] as const).filter((kind) => values.only === undefined || values.only === kind)
const client = values.client as LoadClient
const directory = temporaryDirectory('failover')

/** Names of figures, with what they should be at most. */
const goals: Readonly<Record<string, { median?: number; worst?: number }>> = {
  'no fault, five seconds: longest gap': {},
  'kill -9 of the leader: gap': { median: 500, worst: 1500 },
  'kill -9 of a node: gap of partitions it did not lead': {},
  'SIGSTOP of the leader: gap': { worst: 5000 },
  'cable of the leader cut: gap': { worst: 5000 },
  'controller killed: until there is another': { worst: 1000 },
  'controller killed: gap of partitions led elsewhere': { worst: 100 },
  'leader stopped (SIGTERM): gap': { worst: 100 },
  'planned move: gap': { worst: 100 },
  'node drained: longest gap': { worst: 100 },
  'rolling restart: longest gap': { worst: 100 },
  'started again to in sync': {},
  'started again: longest gap': {},
}

const figures = new Figures()

const silent = new Set(['pause', 'cut'])
const impatient: Readonly<Record<LoadClient, Record<string, string>>> = {
  librdkafka: { 'socket.timeout.ms': '1000', 'socket.connection.setup.timeout.ms': '1000' },
  java: { 'request.timeout.ms': '1000', 'socket.connection.setup.timeout.ms': '1000' },
}

function killsOf(kind: ServerKind): number {
  return Number((kind === 'kafka' ? values['kafka-kills'] : undefined) ?? values.kills)
}

/** Faults that want the same client share one cluster. */
async function runOn(kind: ServerKind, names: readonly string[], settings: Record<string, string>): Promise<void> {
  if (names.length === 0) return
  const home = join(directory, `${kind}-${names.join('-')}`)
  const perSecond = Number(values['per-second'])
  const rig = await Rig.start({ kind, client, directory: home, perSecond, settings })
  for (const name of names) {
    const fault = faults[name]
    if (fault === undefined) throw new Error(`no fault ${name}; there are ${Object.keys(faults).join(', ')}`)
    const times = name === 'kill' ? killsOf(kind) : Number(values.repeats)
    for (let time = 0; time < times; time++) {
      await rig.settled()
      await fault(rig, (what, ms) => figures.note(what, kind, ms))
    }
  }
  await rig.stop()
  removeTemporary(home)
}

console.log(machine())
const wanted = values.faults.split(',')
for (const kind of kinds) {
  const few = wanted.filter((name) => !silent.has(name))
  await runOn(kind, few, {})
  const quiet = wanted.filter((name) => silent.has(name))
  await runOn(kind, quiet, impatient[client])
}

function cells(list: readonly number[]): [string, string] {
  if (list.length === 0) return ['', '']
  return [median(list).toFixed(0), Math.max(...list).toFixed(0)]
}

function goalOf(what: string): { text: string; reached: string } {
  const { median: middle, worst } = goals[what] ?? {}
  const own = figures.of(what, 'millrace')
  const text = [middle === undefined ? '' : `median ${middle}`, worst === undefined ? '' : `worst ${worst}`]
  const reached =
    own.length > 0 && median(own) <= (middle ?? Infinity) && Math.max(...own) <= (worst ?? Infinity) ? 'yes' : 'no'
  const goal = text.filter(Boolean).join(', ')
  return { text: goal, reached: goal === '' ? '' : reached }
}

function killPlot(): string {
  const what = 'kill -9 of the leader: gap'
  const series = [
    { name: 'Millrace', values: figures.of(what, 'millrace') },
    { name: 'Apache Kafka', values: figures.of(what, 'kafka') },
  ]
  return distributionPlot('share of kills after which a producer waited at most so long', 'ms', series)
}

const head = [
  'what, ms',
  'times',
  'Millrace: median',
  'worst',
  'Apache Kafka: median',
  'worst',
  'goal, at most',
  'reached',
]
const rows = Object.keys(goals).flatMap((what) => {
  const [millrace, kafka] = [figures.of(what, 'millrace'), figures.of(what, 'kafka')]
  const times = Math.max(millrace.length, kafka.length)
  const count =
    millrace.length === kafka.length || kafka.length === 0 ? `${times}` : `${millrace.length}, ${kafka.length}`
  const { text, reached } = goalOf(what)
  return times === 0 ? [] : [[what, count, ...cells(millrace), ...cells(kafka), text, reached]]
})
const text = markdownTable(head, rows)
console.log(`\n${text}\n`)
if (values.write) {
  const kills = `--kills ${values.kills} --kafka-kills ${killsOf('kafka')}`
  const command = `npm run bench -- failover --client ${client} ${kills} --repeats ${values.repeats}`
  const name = `failover-${client}`
  writePlot(`plots/${name}.svg`, killPlot())
  const plot = `![How long a producer waits after kill -9 of the leader](plots/${name}.svg)`
  writeBetweenMarks('docs/performance.md', name, `\`${command} --write\` on ${machine()}.\n\n${text}\n\n${plot}`)
  console.log('written to docs/performance.md')
}
process.exit()

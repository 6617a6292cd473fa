/**
 * `npm run bench -- cluster [--rounds 3] [--gb 1] [--warm-gb 3] [--parts produce,latency,partitions,rejoin] [--write]`
 *
 * Three Millrace nodes beside three Apache Kafka brokers (broker and controller in one process, on loopback), topics with
 * three copies, acks=all, min.insync.replicas=2. The sides take turns: in each round, each starts anew, is warmed and measured
 * while the other does not run. `--only kafka|millrace` measures one side alone.
 */
import { mkdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { Cluster } from '../../test/cluster/cluster.ts'
import { removeTemporary, temporaryDirectory } from '../../test/support/files.ts'
import { scriptOptions } from '../../test/support/script-options.ts'
import type { ServerKind } from '../../test/support/server.ts'
import { missingTools } from '../../test/support/toolchain.ts'
import { recordsPerGb } from '../clients.ts'
import { barPlot, writePlot } from '../plot.ts'
import { Figures, machine, median, table, writeBetweenMarks } from '../report.ts'
import { measurePartitions } from './partitions.ts'
import { measureRejoin } from './rejoin.ts'
import { clusterRows } from './rows.ts'
import { measureLatency, measureProduce, warm } from './transfers.ts'

const { values } = scriptOptions(import.meta.filename, {
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    gb: { type: 'string', default: '1' },
    'warm-gb': { type: 'string', default: '3' },
    'log-gb': { type: 'string', default: '10' },
    partitions: { type: 'string', default: '10000' },
    'latency-seconds': { type: 'string', default: '60' },
    parts: { type: 'string', default: 'produce,latency,partitions,rejoin' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
if ((await missingTools(['kafka'])).length > 0) {
  console.log('needs java and the Kafka jars: npm run tools')
  process.exit(2)
}
const kinds = (['millrace', 'kafka'] as const).filter((kind) => values.only === undefined || values.only === kind)
const parts = new Set(values.parts.split(','))
const rounds = Number(values.rounds)
const records = Math.round(Number(values.gb) * recordsPerGb)
const directory = temporaryDirectory('bench')

const transferGb = Number(values['warm-gb']) + 2 * Number(values.gb)
const neededBytes = 3.3e9 * Math.max(transferGb, parts.has('rejoin') ? Number(values['log-gb']) : 0)
const { bavail, bsize } = statfsSync(directory)
if (bavail * bsize < neededBytes) throw new Error(`${directory} lacks ${Math.round(neededBytes / 1e9)} GB`)

const figures = new Figures()

async function withCluster(kind: ServerKind, name: string, use: (cluster: Cluster) => Promise<void>): Promise<void> {
  const home = join(directory, `${kind}-${name}`)
  mkdirSync(home)
  const cluster = await Cluster.prepare({ kind, directory: home, nodes: 3 })
  await cluster.start()
  await use(cluster)
  await cluster.kill()
  removeTemporary(home)
}

console.log(machine())
for (let round = 0; round < rounds; round++) {
  for (const kind of kinds) {
    if (!parts.has('produce') && !parts.has('latency')) continue
    await withCluster(kind, `round-${round}`, async (cluster) => {
      await warm(cluster, Math.round(Number(values['warm-gb']) * recordsPerGb))
      if (parts.has('produce')) await measureProduce(cluster, records, figures)
      if (parts.has('latency')) await measureLatency(cluster, Number(values['latency-seconds']), figures)
    })
  }
}
for (const kind of kinds) {
  if (parts.has('partitions')) {
    await withCluster(kind, 'partitions', (cluster) => measurePartitions(cluster, Number(values.partitions), figures))
  }
  if (parts.has('rejoin')) {
    const logRecords = Math.round(Number(values['log-gb']) * recordsPerGb)
    await withCluster(kind, 'rejoin', (cluster) => measureRejoin(cluster, logRecords, figures))
  }
}

if (kinds.length === 1) {
  console.log(figures.summary(kinds[0] as ServerKind))
  process.exit()
}
function producePlot(title: string, unit: string): string {
  const groups = [
    { name: 'relaxed mode, page cache', what: `produce relaxed ${unit}` },
    { name: 'fsync mode, flush.messages=1', what: `produce fsync ${unit}` },
  ].map(({ name, what }) => {
    const bar = (side: string, kind: ServerKind) => ({ name: side, values: [median(figures.of(what, kind))] })
    return { name, bars: [bar('Millrace', 'millrace'), bar('Apache Kafka', 'kafka')] }
  })
  return barPlot(title, groups)
}

const text = table(clusterRows(figures, Number(values.partitions)))
console.log(`\n${text}\n`)
if (values.write) {
  const command = `npm run bench -- cluster --rounds ${rounds} --gb ${values.gb} --warm-gb ${values['warm-gb']}`
  const context = `\`${command} --write\` on ${machine()}; medians of ${rounds} rounds, smallest and largest in brackets.`
  writePlot('plots/cluster-cpu.svg', producePlot('CPU seconds of three nodes for each GB in', 'cpu s/GB'))
  writePlot('plots/cluster-rate.svg', producePlot('MB a second, one Java producer', 'MB/s'))
  const plots = ['![CPU seconds per GB](plots/cluster-cpu.svg)', '![MB per second](plots/cluster-rate.svg)']
  writeBetweenMarks('docs/performance.md', 'cluster', [context, text, ...plots].join('\n\n'))
  console.log('written to docs/performance.md')
}
process.exit()

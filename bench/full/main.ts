/**
 * `npm run bench -- full [--parts produce,consume,latency,partitions,restart,clients] [--rounds 3] [--gb 0.5] [--warm-gb 3] [--write]`, as root
 *
 * Everything about one node beside one Apache Kafka broker in one run: records in by Java's and librdkafka's producers, in several
 * sizes, numbers of partitions and codecs; out from memory, page cache and a cold disk; latencies at fixed rates; many partitions;
 * a restart with a large log; and our client for Node beside two others. It takes about an hour and 60 GB of disk. `--only
 * kafka|millrace` measures one side alone, without comparing.
 */
import { statfsSync } from 'node:fs'
import { temporaryDirectory } from '../../test/support/files.ts'
import { scriptOptions } from '../../test/support/script-options.ts'
import type { ServerKind } from '../../test/support/server.ts'
import { missingTools } from '../../test/support/toolchain.ts'
import { haveLibrdkafka } from '../librdkafka.ts'
import { OneNode } from '../one-node.ts'
import { Figures, machine, writeBetweenMarks } from '../report.ts'
import { benchConsume } from './consume.ts'
import { benchLatency } from './latency.ts'
import { benchNodeClients } from './node-clients.ts'
import { benchPartitions } from './partitions.ts'
import type { Bench } from './parts.ts'
import { benchProduce } from './produce.ts'
import { benchRestart } from './restart.ts'
import { fullTables, writePlots } from './tables.ts'

const parts: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  produce: benchProduce,
  consume: benchConsume,
  latency: benchLatency,
  partitions: benchPartitions,
  restart: benchRestart,
  clients: benchNodeClients,
}

const { values } = scriptOptions(import.meta.filename, {
  allowPositionals: true,
  options: {
    parts: { type: 'string', default: Object.keys(parts).join(',') },
    rounds: { type: 'string', default: '3' },
    gb: { type: 'string', default: '0.5' },
    'warm-gb': { type: 'string', default: '3' },
    'log-gb': { type: 'string', default: '10' },
    'latency-seconds': { type: 'string', default: '30' },
    partitions: { type: 'string', default: '100,1000,10000' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
if ((await missingTools(['kafka'])).length > 0 || !(await haveLibrdkafka())) {
  console.log('needs java and the Kafka jars (npm run tools), and gcc and librdkafka-dev (Debian: apt-get install)')
  process.exit(2)
}
const wanted = values.parts.split(',').map((name) => {
  const part = parts[name]
  if (part === undefined) throw new Error(`no part ${name}; there are ${Object.keys(parts).join(', ')}`)
  return part
})
const directory = temporaryDirectory('bench')
const neededBytes = 2.2e9 * Math.max(Number(values['log-gb']), Number(values['warm-gb']) + 3 * Number(values.gb))
const { bavail, bsize } = statfsSync(directory)
if (bavail * bsize < neededBytes) throw new Error(`${directory} lacks ${Math.round(neededBytes / 1e9)} GB`)

const bench: Bench = {
  kinds: (['millrace', 'kafka'] as const).filter((kind) => values.only === undefined || values.only === kind),
  nodes: new OneNode(directory),
  figures: new Figures(),
  gb: Number(values.gb),
  warmGb: Number(values['warm-gb']),
  rounds: Number(values.rounds),
  logGb: Number(values['log-gb']),
  latencySeconds: Number(values['latency-seconds']),
  partitionCounts: values.partitions.split(',').map(Number),
}
console.log(machine())
for (const part of wanted) await part(bench)

if (bench.kinds.length === 1) {
  console.log(bench.figures.summary(bench.kinds[0] as ServerKind))
  process.exit()
}
const text = fullTables(bench.figures)
console.log(`\n${text}\n`)
if (values.write) {
  const command = `npm run bench -- full --parts ${values.parts} --rounds ${bench.rounds} --gb ${bench.gb} --warm-gb ${bench.warmGb}`
  const context = `\`${command} --write\` on ${machine()}; medians of the rounds, smallest and largest in brackets.`
  writeBetweenMarks('docs/performance.md', 'full', [context, text, ...writePlots(bench.figures)].join('\n\n'))
  console.log('written to docs/performance.md')
}
process.exit()

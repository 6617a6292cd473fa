/**
 * `npm run bench -- quick [--rounds 3] [--gb 1] [--warm-gb 3] [--write]`
 *
 * Millrace beside a real Apache Kafka in one run: the same client on the same two cores, in turns, so that what the
 * machine does meanwhile hits both. `--only kafka|millrace` measures one side alone, without comparing.
 * `--write` puts the table into docs/performance.md.
 */
import { statfsSync } from 'node:fs'
import { temporaryDirectory } from '../test/support/files.ts'
import { scriptOptions } from '../test/support/script-options.ts'
import type { Server, ServerKind } from '../test/support/server.ts'
import { missingTools } from '../test/support/toolchain.ts'
import { consumeWithJava, produceWithJava, recordsPerGb } from './clients.ts'
import { startToFirstAck } from './first-ack.ts'
import { measure, OneNode, wait, warm, withTopic } from './one-node.ts'
import { cpuSeconds, residentBytes } from './process-stats.ts'
import { type Comparison, Figures, machine, table, writeBetweenMarks } from './report.ts'

const { values } = scriptOptions(import.meta.filename, {
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    gb: { type: 'string', default: '1' },
    'warm-gb': { type: 'string', default: '3' },
    'long-gb': { type: 'string', default: '5' },
    'idle-seconds': { type: 'string', default: '20' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
if ((await missingTools(['kafka'])).length > 0) {
  console.log('needs java and the Kafka jars: npm run tools')
  process.exit(2)
}
const rounds = Number(values.rounds)
const records = Math.round(Number(values.gb) * recordsPerGb)
const kinds: readonly ServerKind[] =
  values.only === undefined ? ['millrace', 'kafka'] : [values.only === 'kafka' ? 'kafka' : 'millrace']

const directory = temporaryDirectory('bench')
const mostGb = Number(values['warm-gb']) + Number(values['long-gb']) + (2 + 2 * rounds) * Number(values.gb)
const neededBytes = mostGb * 1.1e9 * kinds.length
const { bavail, bsize } = statfsSync(directory)
if (bavail * bsize < neededBytes) throw new Error(`${directory} lacks ${Math.round(neededBytes / 1e9)} GB`)

/** One a round. */
const figures = new Figures()

const nodes = new OneNode(directory)

async function measureStart(kind: ServerKind, round: number): Promise<void> {
  const server = await nodes.prepare(kind, `start-${round}`)
  figures.note('start ms', kind, await startToFirstAck(server, 'first'))
  await wait(1000)
  await server.kill()
  figures.note('restart ms', kind, await startToFirstAck(server, 'first'))
  await server.kill()
  nodes.forget(kind, `start-${round}`)
}

async function measureIdle(servers: readonly Server[]): Promise<void> {
  await wait(15_000) // what a start leaves to do is not idling
  const seconds = Number(values['idle-seconds'])
  const before = servers.map(({ process }) => cpuSeconds(process.pid))
  await wait(seconds * 1000)
  servers.forEach(({ kind, process }, index) => {
    figures.note('idle cpu %', kind, ((cpuSeconds(process.pid) - (before[index] as number)) / seconds) * 100)
    figures.note('idle MB', kind, residentBytes(process.pid) / 1e6)
  })
}

console.log(machine())
for (let round = 0; round < rounds; round++) for (const kind of kinds) await measureStart(kind, round)

const warmRecords = Math.round(Number(values['warm-gb']) * recordsPerGb)
const longRecords = Math.round(Number(values['long-gb']) * recordsPerGb)

async function measureTransfers(servers: readonly Server[], prefix: string): Promise<void> {
  for (const durability of ['relaxed', 'fsync'] as const) {
    for (const server of servers) {
      await withTopic(server, durability, async (topic) => {
        const produce = () => produceWithJava(server.address, topic, records)
        await measure(server, figures, `${prefix}produce ${durability}`, produce)
        if (durability === 'fsync') return
        const consume = () => consumeWithJava(server.address, topic, records)
        await measure(server, figures, `${prefix}consume`, consume)
      })
    }
  }
}

/** Fresh processes each round, so that every round finds both equally warm; the last one goes on until they are hot. */
async function runRound(round: number): Promise<void> {
  const servers = await Promise.all(kinds.map((kind) => nodes.prepare(kind, `round-${round}`)))
  for (const server of servers) await server.start()
  if (round === 0) await measureIdle(servers)
  for (const server of servers) await warm(server, warmRecords, records)
  await measureTransfers(servers, '')
  if (round === rounds - 1 && longRecords > 0) {
    for (const server of servers) await warm(server, longRecords, records)
    for (let again = 0; again < rounds; again++) await measureTransfers(servers, 'hot ')
  }
  for (const server of servers) {
    await server.stop()
    nodes.forget(server.kind, `round-${round}`)
  }
}
for (let round = 0; round < rounds; round++) await runRound(round)

if (kinds.length === 1) {
  console.log(figures.summary(kinds[0] as ServerKind))
  process.exit()
}

const compare = (
  what: string,
  unit: string,
  digits: number,
  [millrace, kafka]: [string, string],
  goal: Comparison['goal'],
): Comparison => ({
  what,
  unit,
  digits,
  millrace: figures.of(millrace, 'millrace'),
  kafka: figures.of(kafka, 'kafka'),
  goal,
})
const both = (name: string): [string, string] => [name, name]

/** The same after much more than the warming of each round: what a server does that has run for long. */
function hotRows(): Comparison[] {
  const goal = { ratio: 'at most', value: 1 } as const
  const page: [string, string] = ['hot produce fsync cpu s/GB', 'hot produce relaxed cpu s/GB']
  return [
    compare(
      'hot: produce, relaxed mode against page cache: broker CPU',
      's/GB',
      2,
      both('hot produce relaxed cpu s/GB'),
      goal,
    ),
    compare('hot: produce, fsync mode against page cache: broker CPU', 's/GB', 2, page, goal),
    compare('hot: consume from memory: broker CPU', 's/GB', 2, both('hot consume cpu s/GB'), goal),
    compare('hot: produce, relaxed mode against page cache', 'MB/s', 0, both('hot produce relaxed MB/s'), {
      ratio: 'at least',
      value: 1,
    }),
  ]
}

const text = table([
  compare('produce, relaxed mode against page cache: broker CPU', 's/GB', 2, both('produce relaxed cpu s/GB'), {
    ratio: 'at most',
    value: 0.45,
  }),
  compare(
    'produce, fsync mode against page cache: broker CPU',
    's/GB',
    2,
    ['produce fsync cpu s/GB', 'produce relaxed cpu s/GB'],
    { ratio: 'at most', value: 0.6 },
  ),
  compare('produce, fsync mode against flush.messages=1: broker CPU', 's/GB', 2, both('produce fsync cpu s/GB'), {
    ratio: 'at most',
    value: 1,
  }),
  compare('consume from memory: broker CPU', 's/GB', 2, both('consume cpu s/GB'), { ratio: 'at most', value: 1 }),
  compare('produce, relaxed mode against page cache', 'MB/s', 0, both('produce relaxed MB/s'), {
    ratio: 'at least',
    value: 1.3,
  }),
  compare('produce, fsync mode against page cache', 'MB/s', 0, ['produce fsync MB/s', 'produce relaxed MB/s'], {
    ratio: 'at least',
    value: 1,
  }),
  compare('produce, fsync mode against flush.messages=1', 'MB/s', 0, both('produce fsync MB/s'), {
    ratio: 'at least',
    value: 1,
  }),
  compare('consume from memory', 'MB/s', 0, both('consume MB/s'), { ratio: 'at least', value: 1 }),
  ...(longRecords === 0 ? [] : hotRows()),
  compare('start to first acknowledged record, empty folder', 'ms', 0, both('start ms'), { most: 600 }),
  compare('the same after kill -9', 'ms', 0, both('restart ms'), { most: 1000 }),
  compare('idle memory (RSS)', 'MB', 0, both('idle MB'), { most: 95 }),
  compare('idle CPU', '% of a core', 2, both('idle cpu %'), { most: 0.5 }),
])
const command = `npm run bench -- quick --rounds ${rounds} --gb ${values.gb} --warm-gb ${values['warm-gb']}`
console.log(`\n${text}\n`)
if (values.write) {
  const context = `\`${command} --write\` on ${machine()}; medians of ${rounds} rounds, smallest and largest in brackets.`
  writeBetweenMarks('docs/performance.md', 'quick', `${context}\n\n${text}`)
  writeBetweenMarks('README.md', 'quick', text)
  console.log('written to docs/performance.md and README.md')
}
process.exit()

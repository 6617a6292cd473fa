import type { ServerKind } from '../../test/support/server.ts'
import { barPlot, writePlot } from '../plot.ts'
import { type Comparison, type Figures, markdownTable, median, table } from '../report.ts'
import { latencyName } from './latency.ts'
import { nodeClientFigure, nodeClientNames } from './node-clients.ts'
import { produceCases } from './produce.ts'

type Goal = Comparison['goal']

const atMost = (value: number): Goal => ({ ratio: 'at most', value })
const atLeast = (value: number): Goal => ({ ratio: 'at least', value })
const most = (value: number): Goal => ({ most: value })

/** What is to be reached, by the name of the figure; where nothing is named, level with Kafka. */
const goals: Readonly<Record<string, Goal>> = {
  'Java, 1 KB, 1 partitions, relaxed: cpu s/GB': atMost(0.4),
  'Java, 1 KB, 1 partitions, fsync against page cache: cpu s/GB': atMost(0.55),
  'Java, 100 B, 1 partitions, relaxed: cpu s/million': most(0.5),
  'Java, 1 KB, 1 partitions, relaxed: MB/s': atLeast(1.4),
  'Java, 1 KB, 1 partitions, fsync against page cache: MB/s': atLeast(1.05),
  'Java, 1 KB, 1 partitions, fsync: MB/s': atLeast(2.5),
  'librdkafka, 1 KB, 1 partitions, relaxed: MB/s': atLeast(2),
  'librdkafka, 1 KB, 1 partitions, fsync against page cache: MB/s': atLeast(1.3),
  'consume from memory, 1 group cpu s/GB': most(0.7),
  'consume from page cache, 1 group cpu s/GB': most(1.2),
  [latencyName('ack', 'fsync', 10_000, 'p99')]: most(10),
  [latencyName('ack', 'fsync', 500, 'p99')]: atMost(0.25),
  [latencyName('end to end', 'relaxed', 500, 'p99')]: atMost(0.5),
  [latencyName('end to end', 'relaxed', 10_000, 'p99')]: atMost(0.5),
  'memory at most under load MB': most(300),
  'restart after kill -9 with a large log ms': most(1500),
  '10000 partitions: created s': most(10),
  '10000 partitions: idle MB': most(150),
  '10000 partitions: idle cpu %': most(1),
  '10000 partitions: led again after a clean stop s': most(3),
  '10000 partitions: led again after kill -9 s': most(3),
}

/** All tables of the parts that were measured. */
export function fullTables(figures: Figures): string {
  const sections: [string, string][] = [
    ['Records in', produceTable(figures)],
    ['Records out', comparisons(figures, (name) => name.startsWith('consume '))],
    ['Latency, one client without linger', comparisons(figures, (name) => / at \d+\/s, /.test(name))],
    ['Many partitions, memory, restart', comparisons(figures, (name) => /partitions: |^memory |^restart /.test(name))],
    ['Clients for Node', clientsTable(figures)],
  ]
  return sections
    .filter(([, text]) => text !== '')
    .map(([title, text]) => `**${title}**\n\n${text}`)
    .join('\n\n')
}

function comparison(figures: Figures, what: string, [millrace, kafka]: [string, string]): Comparison {
  const unit = what.slice(what.lastIndexOf(' ') + 1)
  const goal = goals[what] ?? (what.endsWith('MB/s') ? atLeast(1) : atMost(1))
  const name = what
    .slice(0, what.lastIndexOf(' '))
    .replace(/[ :]*(cpu)?$/, (end) => (end.includes('cpu') ? ', CPU' : ''))
  const digits = unit === 'MB/s' || unit === 'MB' ? 0 : 2
  return {
    what: name,
    unit,
    digits,
    millrace: figures.of(millrace, 'millrace'),
    kafka: figures.of(kafka, 'kafka'),
    goal,
  }
}

function measured({ millrace, kafka }: Comparison): boolean {
  return millrace.length > 0 && kafka.length > 0
}

function comparisons(figures: Figures, belongs: (name: string) => boolean): string {
  const rows = figures.names.filter(belongs).map((name) => comparison(figures, name, [name, name]))
  const both = rows.filter(measured)
  return both.length === 0 ? '' : table(both)
}

function produceTable(figures: Figures): string {
  const rows = produceCases.flatMap(({ name, bytes }) => {
    const cost = bytes < 1000 ? 'cpu s/million' : 'cpu s/GB'
    return [cost, 'MB/s'].flatMap((unit) => {
      const of = (durability: string) => `${name}, ${durability}: ${unit}`
      return [
        comparison(figures, of('relaxed'), [of('relaxed'), of('relaxed')]),
        comparison(figures, of('fsync against page cache'), [of('fsync'), of('relaxed')]),
        comparison(figures, of('fsync'), [of('fsync'), of('fsync')]),
      ]
    })
  })
  const both = rows.filter(measured)
  return both.length === 0 ? '' : table(both)
}

function clientsTable(figures: Figures): string {
  const goal: Readonly<Record<string, number>> = { kafkajs: 2, platformatic: 1.3 }
  const rows = ['produce', 'consume'].flatMap((what) => {
    const own = figures.of(nodeClientFigure('millrace', what), 'millrace')
    if (own.length === 0) return []
    const ratio = (other: readonly number[]) => median(own.map((value, round) => value / (other[round] as number)))
    return nodeClientNames.map((client) => {
      const values = figures.of(nodeClientFigure(client, what), 'millrace')
      const wanted = goal[client]
      const cells = [`${client}: ${what}`, median(values).toFixed(0)]
      if (wanted === undefined) return [...cells, '', '', '']
      return [...cells, ratio(values).toFixed(2), `at least ${wanted}`, ratio(values) >= wanted ? 'yes' : 'no']
    })
  })
  const head = ['client', 'records/s', 'ours to it', 'goal', 'reached']
  return rows.length === 0 ? '' : markdownTable(head, rows)
}

/** Draws what is there; returns the lines that show it. */
export function writePlots(figures: Figures): string[] {
  const shown = produceCases.filter(({ name }) => figures.of(`${name}, relaxed: MB/s`, 'kafka').length > 0)
  if (shown.length === 0) return []
  const bar = (name: string, what: string, kind: ServerKind) => ({ name, values: [median(figures.of(what, kind))] })
  const groups = (unit: string) =>
    shown
      .filter(({ codec }) => codec === 'none')
      .map(({ name }) => ({
        name: name.replace(' partitions', ' p.'),
        bars: [
          bar('Millrace, fsync', `${name}, fsync: ${unit}`, 'millrace'),
          bar('Millrace, relaxed', `${name}, relaxed: ${unit}`, 'millrace'),
          bar('Kafka, flush.messages=1', `${name}, fsync: ${unit}`, 'kafka'),
          bar('Kafka, page cache', `${name}, relaxed: ${unit}`, 'kafka'),
        ],
      }))
  writePlot('plots/produce-rate.svg', barPlot('MB a second in', groups('MB/s')))
  writePlot('plots/produce-cpu.svg', barPlot('CPU seconds of the broker for each GB in', groups('cpu s/GB')))
  return ['![MB a second in](plots/produce-rate.svg)', '![CPU seconds per GB in](plots/produce-cpu.svg)']
}

import type { Comparison, Figures } from '../report.ts'

/** The table, with what each figure should reach. */
export function clusterRows(figures: Figures, partitions: number): Comparison[] {
  const row = (
    what: string,
    [unit, digits]: [string, number],
    [millrace, kafka]: [string, string],
    goal: Comparison['goal'],
  ): Comparison => {
    return { what, unit, digits, millrace: figures.of(millrace, 'millrace'), kafka: figures.of(kafka, 'kafka'), goal }
  }
  const both = (name: string): [string, string] => [name, name]
  const atMost = (value: number) => ({ ratio: 'at most' as const, value })
  const atLeast = (value: number) => ({ ratio: 'at least' as const, value })
  const [cpu, mb, ms]: [string, number][] = [
    ['s/GB', 1],
    ['MB/s', 0],
    ['ms', 0],
  ] as const
  const rows = [
    row(
      'produce, fsync mode against page cache: CPU of three nodes',
      cpu,
      ['produce fsync cpu s/GB', 'produce relaxed cpu s/GB'],
      atMost(0.35),
    ),
    row(
      'produce, relaxed mode against page cache: CPU of three nodes',
      cpu,
      both('produce relaxed cpu s/GB'),
      atMost(0.35),
    ),
    row('produce, relaxed mode against page cache', mb, both('produce relaxed MB/s'), atLeast(3)),
    row('produce, fsync mode against page cache', mb, ['produce fsync MB/s', 'produce relaxed MB/s'], atLeast(2)),
    row('produce, fsync mode against flush.messages=1', mb, both('produce fsync MB/s'), atLeast(3)),
    row(
      'p99 at 2,000 records/s, fsync mode against page cache',
      ms,
      ['latency fsync p99 ms', 'latency relaxed p99 ms'],
      atMost(1),
    ),
    row('the same, against flush.messages=1', ms, both('latency fsync p99 ms'), { most: 15 }),
    row(`${partitions} partitions: created`, ['s', 1], both('partitions created s'), { most: 20 }),
    row('all led again after one kill -9', ['s', 1], both('partitions led again s'), { most: 2 }),
    row('idle CPU of a node with them', ['% of a core', 1], both('partitions idle cpu %'), { most: 2 }),
    row('idle memory of a node with them (RSS)', ['MB', 0], both('partitions idle MB'), atMost(1)),
    row('kill -9 to in sync again, with a large log', ['s', 1], both('killed to in sync s'), { most: 10 }),
  ]
  return rows.filter(({ millrace, kafka }) => millrace.length > 0 && kafka.length > 0)
}

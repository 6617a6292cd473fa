import type { Dataset, Row } from './rows.ts'

export interface SeenRecord {
  readonly partition: number
  readonly offset: number
  readonly key: string | null
  readonly value: string
}

/** Everything the members of one group have printed: a record at most once, however often it was read. */
export class Seen {
  #partitions = new Map<number, Map<number, SeenRecord>>()
  /** Different records read. */
  count = 0
  /** Records read again, which a killed member makes normal. */
  again = 0

  add(record: SeenRecord): void {
    let offsets = this.#partitions.get(record.partition)
    if (offsets === undefined) this.#partitions.set(record.partition, (offsets = new Map()))
    const before = offsets.get(record.offset)
    if (before === undefined) {
      offsets.set(record.offset, record)
      this.count++
      return
    }
    this.again++
    if (before.key !== record.key || before.value !== record.value) {
      throw new Error(
        `two different records at ${record.partition}/${record.offset}: ${before.value} and ${record.value}`,
      )
    }
  }

  /** By partition, in the order of offsets. */
  inOrder(): SeenRecord[][] {
    return [...this.#partitions.values()].map((offsets) => [...offsets.values()].sort((a, b) => a.offset - b.offset))
  }
}

/** Every row is there as often as it was sent, in the order sent per key; null keys in an order that fits. */
export function verifyRows({ name, rows }: Dataset, seen: Seen): void {
  const partitions = seen.inOrder()
  verifyCounts(name, rows, partitions.flat())
  for (const records of partitions) {
    records.forEach(({ offset }, index) => {
      if (offset !== index) throw new Error(`${name}: offset ${offset} where ${index} was due`)
    })
    if (records[0]?.key === null) verifySubsequence(name, rows, records)
  }
  if (rows[0]?.key !== null) verifyKeyOrder(name, rows, partitions)
}

function verifyCounts(name: string, rows: readonly Row[], records: readonly SeenRecord[]): void {
  const identity = ({ key, value }: Row) => `${key}\t${value}`
  const balance = new Map<string, number>()
  for (const row of rows) balance.set(identity(row), (balance.get(identity(row)) ?? 0) + 1)
  for (const record of records) balance.set(identity(record), (balance.get(identity(record)) ?? 0) - 1)
  const wrong = [...balance].filter(([, count]) => count !== 0)
  if (wrong.length > 0) {
    const lost = wrong.reduce((sum, [, count]) => sum + Math.max(count, 0), 0)
    const extra = wrong.reduce((sum, [, count]) => sum + Math.max(-count, 0), 0)
    throw new Error(
      `${name}: ${lost} rows missing, ${extra} too many; for example ${JSON.stringify([wrong[0]?.[0], wrong.at(-1)?.[0]])}`,
    )
  }
}

function verifyKeyOrder(name: string, rows: readonly Row[], partitions: readonly SeenRecord[][]): void {
  const grouped = (list: Iterable<Row>) => {
    const byKey = new Map<string | null, string[]>()
    for (const { key, value } of list) {
      const values = byKey.get(key)
      if (values === undefined) byKey.set(key, [value])
      else values.push(value)
    }
    return byKey
  }
  const home = new Map<string | null, number>()
  for (const { key, partition } of partitions.flat()) {
    if ((home.get(key) ?? partition) !== partition) throw new Error(`${name}: key ${key} is in two partitions`)
    home.set(key, partition)
  }
  const found = grouped(partitions.flat())
  for (const [key, sent] of grouped(rows)) {
    const got = found.get(key) ?? []
    const index = sent.findIndex((value, i) => value !== got[i])
    if (index >= 0) throw new Error(`${name}: key ${key}: ${got[index]} where ${sent[index]} was due`)
  }
}

/** Each partition holds its rows in the order in which the client was given them. */
function verifySubsequence(name: string, rows: readonly Row[], records: readonly SeenRecord[]): void {
  let at = 0
  for (const { partition, offset, value } of records) {
    while (at < rows.length && rows[at]?.value !== value) at++
    if (at === rows.length) throw new Error(`${name}: ${partition}/${offset} is out of order: ${value}`)
    at++
  }
}

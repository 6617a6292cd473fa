import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withTempDir } from '../../testing/temp-dir.ts'
import type { BenchResult } from '../bench/result.ts'
import { CommandError } from '../exit-code.ts'
import { hostAs, measuredOf, readMeasured } from './measured.ts'
import { size, USUAL_HOST } from './sizing.ts'

function result(bench: BenchResult['bench'], bytesPerSecond: number, partitions = 6): BenchResult {
  return {
    bench,
    settings: {
      topic: 't',
      valueBytes: 1000,
      partitions,
      compression: 'none',
      acks: 'all',
      lingerMs: 5,
      batchBytes: 65_536,
      rate: null,
      recordsMax: 1,
      durationMs: 1,
    },
    records: 1,
    bytes: 1,
    seconds: 10,
    recordsPerSecond: 1,
    bytesPerSecond,
    latencyMs: null,
  }
}

const LOAD = {
  peakRecords: 300_000,
  recordBytes: 1000,
  retentionSeconds: 3600,
  copies: 3,
  groups: 2,
  meanShare: 0.5,
  compression: 1,
  tieredAfterSeconds: null,
}

test('the rates that were measured take the place of those that were assumed, with the formula', () => {
  const measured = measuredOf([result('produce', 90e6), result('consume', 200e6), result('produce', 60e6)], 'x')
  const figures = new Map(size(LOAD, hostAs(measured, USUAL_HOST)).map((each) => [each.name, each]))
  assert.deepEqual(
    ['hosts by throughput', 'hosts by reading', 'hosts', 'partitions'].map((name) => figures.get(name)?.value),
    [10, 3, 10, 20],
  )
  assert.equal(figures.get('hosts by throughput')?.formula, '900 MB/s / 90 MB/s a host')
  assert.equal(figures.get('hosts')?.formula, 'the largest of the three, and no fewer than copies')
  assert.match(
    measured.notes.join(),
    /bench produce: 90 MB\/s over 10\.0 s \(1 kB records, 6 partitions, none, acks=all\)/,
  )
})

test('a partition that was measured alone says what one takes', () => {
  const { partitionBytes } = measuredOf([result('produce', 90e6), result('produce', 40e6, 1)], 'x')
  assert.equal(partitionBytes, 40e6)
})

test('without a produce bench there is nothing to count with', () => {
  assert.throws(() => measuredOf([result('e2e', 1e6)], 'm.json'), /m\.json has no result of millrace bench produce/)
})

test('JSON that is no result of a benchmark is refused by the name of its file', async () => {
  await withTempDir(async (folder) => {
    const file = join(folder, 'measured.json')
    for (const text of ['null', '5', '{}', '{"bench":"produce","bytesPerSecond":5}', '[[]]', 'x']) {
      writeFileSync(file, text)
      assert.throws(
        () => readMeasured(file),
        (error) => error instanceof CommandError && error.message.includes(`--measured ${file} is not what`),
        text,
      )
    }
  })
})

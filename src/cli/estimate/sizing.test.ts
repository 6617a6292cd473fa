import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatQuantity, parseQuantity } from './quantities.ts'
import { size, USUAL_HOST, type Workload } from './sizing.ts'

/** Two million records of 1 KB a second, kept for a week. */
const LARGE: Workload = {
  peakRecords: 2e6,
  recordBytes: 1000,
  retentionSeconds: 7 * 86_400,
  copies: 3,
  groups: 3,
  meanShare: 0.5,
  compression: 1,
  tieredAfterSeconds: null,
}

function figures(load: Workload): Record<string, string> {
  return Object.fromEntries(size(load, USUAL_HOST).map(({ name, value, unit }) => [name, formatQuantity(value, unit)]))
}

test('two million records a second for a week need what the design counts with', () => {
  assert.deepEqual(figures(LARGE), {
    ingest: '2 GB/s',
    'between nodes': '4 GB/s',
    'disk writes': '6 GB/s',
    'out to consumers': '6 GB/s',
    storage: '1.8 PB',
    'hosts by storage': '76',
    'hosts by throughput': '40',
    hosts: '76',
    partitions: '200',
  })
})

test('with an object store after a day, speed decides how many hosts', () => {
  const { storage, hosts, 'object store': remote } = figures({ ...LARGE, tieredAfterSeconds: 86_400 })
  assert.deepEqual({ storage, hosts, remote }, { storage: '259 TB', hosts: '40', remote: '605 TB' })
})

test('compression makes everything smaller, and there are never fewer hosts than copies', () => {
  const { ingest, hosts } = figures({ ...LARGE, peakRecords: 1000, compression: 4 })
  assert.deepEqual({ ingest, hosts }, { ingest: '250 kB/s', hosts: '3' })
})

test('quantities are read with decimal prefixes, and nothing else is', () => {
  for (const [text, value] of [
    ['2M', 2e6],
    ['1KB', 1000],
    ['1.5 GB', 1.5e9],
    ['150MB/s', 150e6],
    ['.5k', 500],
    ['400', 400],
  ] as const) {
    assert.equal(parseQuantity(text), value, text)
  }
  for (const text of ['', '0', '-1', '1KiB', '2X', 'M', '1e6', '1 2', '9'.repeat(400), '2E'])
    assert.equal(parseQuantity(text), null, text)
})

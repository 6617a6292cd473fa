import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BenchResult } from '../../src/cli/bench/result.ts'
import { Cli } from '../support/cli.ts'
import { testServer } from '../support/test-server.ts'

test('a cluster is measured by its own client, and an estimate is made from that', async (context) => {
  const server = await testServer(context)
  const cli = new Cli(context, server.address)
  const produced = await cli.json<BenchResult>(['bench', 'produce', '--records', '5000', '--size', '200', '-p', '2'])
  assert.deepEqual([produced.bench, produced.records, produced.bytes], ['produce', 5000, 1_000_000])
  assert.equal(produced.settings.partitions, 2)
  const { p50 = 0, p99 = 0, p999 = 0, max = 0 } = produced.latencyMs ?? {}
  assert.ok(0 < p50 && p50 <= p99 && p99 <= p999 && p999 <= max)
  assert.ok(Math.abs(produced.bytesPerSecond / (produced.bytes / produced.seconds) - 1) < 1e-9)

  const consumed = await cli.json<BenchResult>(['bench', 'consume', '--records', '3k', '-z', 'lz4'])
  assert.deepEqual([consumed.records >= 3000, consumed.settings.valueBytes, consumed.latencyMs], [true, 1000, null])
  const paced = await cli.json<BenchResult>(['bench', 'e2e', '--seconds', '1', '--rate', '200'])
  assert.ok(paced.records > 100 && paced.records <= 200, `${paced.records} records at 200 a second`)
  assert.ok((paced.latencyMs?.p50 ?? 0) > 0)
  assert.match(await cli.text(['bench', 'produce', '--records', '10']), /produce: 10 records of 1,000 B[\s\S]*p99\.9/)
  assert.equal(await cli.text(['topic', 'ls']), 'no topics\n', 'its topics are gone')

  await cli.text(['topic', 'create', 'mine', '-p', '1'])
  const kept = await cli.json<BenchResult>(['bench', 'produce', '--records', '100', '-t', 'mine'])
  assert.equal(kept.settings.topic, 'mine')
  assert.match(await cli.text(['topic', 'describe', 'mine']), /100 offsets in use/)
  assert.equal((await cli.run(['bench', 'produce', '-t', 'missing'])).code, 1)
  assert.equal((await cli.run(['bench', 'produce', '--size', '2MB'])).code, 2)

  const file = join(cli.directory, 'measured.json')
  writeFileSync(file, `${JSON.stringify(produced, null, 2)}\n${JSON.stringify(consumed, null, 2)}\n`)
  const text = await cli.text(['estimate', '--rate', '50k', '--size', '1KB', '--retention', '7d', '--measured', file])
  assert.match(text, /the same with what this build was measured to do, one node a host:\n {2}bench produce: /)
  assert.match(text, /hosts by reading +\d+ +=/)
  assert.doesNotMatch(readFileSync(file, 'utf8'), /undefined/)
  const wrong = await cli.run([
    'estimate',
    '--rate',
    '1',
    '--size',
    '1',
    '--retention',
    '1d',
    '--measured',
    '/dev/null',
  ])
  assert.match(wrong.stderr, /no result of millrace bench produce/)
})

interface Stats {
  readonly records: number
  readonly perSecond: readonly number[]
  readonly skew: { readonly records: number }
  readonly oldestMs: number
  readonly newestMs: number
  readonly oldestGoesInMs: number
  readonly bytes: number
  readonly removedBytes: number
}

test('what is in a topic is told, and its oldest records are cut off', async (context) => {
  const server = await testServer(context)
  const cli = new Cli(context, server.address)
  await cli.text(['topic', 'create', 'orders', '-p', '2', '-c', 'retention.ms=7200000'])
  const nowMs = Date.now()
  const lines = [3600, 1800, 100, 30].map((age) => `${nowMs - age * 1000} v\n`).join('')
  await cli.text(['produce', 'orders', '-p', '1', '-f', '%d %v\\n'], lines)
  const [stats] = await cli.json<Stats[]>(['topic', 'stats', 'orders'])
  assert.deepEqual([stats?.records, stats?.skew.records], [4, 2])
  assert.deepEqual([stats?.oldestMs, stats?.newestMs], [nowMs - 3_600_000, nowMs - 30_000])
  assert.deepEqual(stats?.perSecond, [1 / 60, 2 / 300, 2 / 900])
  assert.ok(Math.abs((stats?.oldestGoesInMs ?? 0) - 3_600_000) < 60_000)
  const text = await cli.text(['topic', 'stats', 'orders'])
  assert.match(text, /largest partition: 2\.00 times the mean[\s\S]*kept for 2h; the oldest go in \d+m/)

  const ends = async () => {
    const [topic] = await cli.json<{ partitions: { startOffset: number }[] }[]>(['topic', 'describe', 'orders'])
    return topic?.partitions.map(({ startOffset }) => startOffset)
  }
  assert.match(
    await cli.text(['topic', 'trim', 'orders', '--before', '20m']),
    /2 records .* would be removed.*\nnothing was done/,
  )
  assert.deepEqual(await ends(), [0, 0])
  await cli.text(['topic', 'trim', 'orders', '--before', '20m', '--yes'])
  assert.deepEqual(await ends(), [0, 2])
  await cli.text(['topic', 'trim', 'orders', '--before', '3', '-p', '1', '--yes'])
  assert.deepEqual(await ends(), [0, 3])
  assert.match(
    await cli.text(['topic', 'trim', 'orders', '--before', 'latest', '--yes']),
    /1 record .* removed\ntheir bytes go with whole segments/,
  )
  assert.deepEqual(await ends(), [0, 4])
  const [trimmed] = await cli.json<Stats[]>(['topic', 'stats', 'orders'])
  assert.equal(trimmed?.records, 0)
  assert.ok(trimmed.removedBytes > 0 && trimmed.removedBytes === trimmed.bytes)
  assert.match(
    await cli.text(['topic', 'stats', 'orders']),
    /0 records, (.* B) a copy\n[^]*\1 are of records that were removed/,
  )
  assert.match((await cli.run(['topic', 'trim', 'orders', '--before', 'x'])).stderr, /an offset, a time/)
  assert.match((await cli.run(['topic', 'trim', 'orders', '--before', '1', '-p', '7'])).stderr, /no partition 7/)
})

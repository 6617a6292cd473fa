import assert from 'node:assert/strict'
import { copyFileSync, existsSync, globSync, readFileSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { Random } from '../../src/base/random.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { defaultLogConfig } from '../../src/storage/config.ts'
import { LogManager } from '../../src/storage/log-manager.ts'
import { CompactionModel } from '../../src/testing/compaction-model.ts'
import { TEST_TOPIC_ID } from '../../src/testing/log-model.ts'
import { removeTemporary, temporaryDirectory } from '../support/files.ts'
import { runTool } from '../support/kafka-oracle.ts'
import { runOrFail, until } from '../support/process.ts'
import { readyTopic } from '../support/retry.ts'
import type { Server, ServerKind } from '../support/server.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'

const skip = await skipWithout('kafka', 'kcat')
const codecs = ['none', 'zstd']
const topicConfig = {
  'cleanup.policy': 'compact',
  // Every batch of another millisecond begins a segment.
  'segment.ms': '1',
  'min.cleanable.dirty.ratio': '0.01',
  'delete.retention.ms': '1000',
}
const complaint =
  /corrupt|mismatch|isvalid: false|non consecutive|not match|exception|error|misordered|out of order|failed/i

/** Rows of `key:value`; NULL is a tombstone. */
function rowsOf(random: Random, count: number, round: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const value = random.chance(0.15) ? 'NULL' : `${round}.${i}.${random.bytes(16).toString('hex')}`
    return `key-${random.below(60)}:${value}`
  })
}

/** What a table that follows the topic holds. */
function tableOf(rows: readonly string[], table = new Map<string, string>()): Map<string, string> {
  for (const row of rows) {
    const [key, value] = row.split(':') as [string, string]
    if (value === 'NULL') table.delete(key)
    else table.set(key, value)
  }
  return table
}

const sorted = (table: ReadonlyMap<string, string>) => [...table].sort(([a], [b]) => (a < b ? -1 : 1))

/** In parts, each of a later millisecond: the cleaner leaves only the last one alone. */
async function produce(server: Server, topic: string, codec: string, rows: readonly string[]): Promise<void> {
  const args = ['-P', '-b', server.address, '-t', topic, '-p', '0', '-K', ':', '-Z', '-z', codec]
  for (let first = 0; first < rows.length; first += 250) {
    const part = rows.slice(first, first + 250)
    const input = part.map((row) => `${row.replace(/:NULL$/, ':')}\n`).join('')
    await runOrFail('kcat', [...args, '-X', 'batch.num.messages=50'], { input })
  }
}

/** Everything up to the end of the partition, as librdkafka sees it; the last row of a key counts. */
async function consume(server: Server, topic: string): Promise<{ table: Map<string, string>; rows: number }> {
  const args = ['-C', '-b', server.address, '-t', topic, '-p', '0', '-o', 'beginning', '-e', '-K', ':', '-Z']
  const stdout = await runOrFail('kcat', [...args, '-X', 'isolation.level=read_committed'])
  const rows = stdout.split('\n').filter((row) => /^key-[0-9]+:/.test(row))
  return { table: tableOf(rows), rows: rows.length }
}

/** Up to where the topic's partition 0 was compacted. */
function compactedTo(server: Server, topic: string): number {
  const file = join(server.dataDirectory, 'cleaner-offset-checkpoint')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return Number(new RegExp(`^${topic} 0 ([0-9]+)$`, 'm').exec(text)?.[1] ?? 0)
}

/** Until the cleaner is past `offset`, and has rested. */
async function compacted(server: Server, topic: string, offset: number): Promise<void> {
  await until(
    `${topic} is compacted beyond ${offset}`,
    () => Promise.resolve(compactedTo(server, topic) > offset ? true : null),
    { timeoutMs: 60_000, everyMs: 100 },
  )
  for (let last = -1; last !== compactedTo(server, topic); await sleep(2000)) last = compactedTo(server, topic)
}

const logsOf = (directory: string) => globSync(join(directory, '*.log')).sort()
const bytesOf = (files: readonly string[]) => files.reduce((sum, file) => sum + statSync(file).size, 0)

async function dump(files: readonly string[], ...options: string[]): Promise<string> {
  if (files.length === 0) return ''
  const { code, stdout, stderr } = await runTool('dump-log', [...options, '--files', files.join(',')])
  const complaints = `${stdout}${stderr}`.split('\n').filter((line) => complaint.test(line))
  assert.deepEqual(complaints, [])
  assert.equal(code, 0, stderr)
  return stdout
}

/** Kafka's dump tool finds nothing to say about the files of a partition. */
async function checkFiles(directory: string): Promise<void> {
  await dump(logsOf(directory), '--deep-iteration', '--print-data-log')
  await dump(globSync(join(directory, '*.index')), '--index-sanity-check')
  await dump(globSync(join(directory, '*.index')), '--verify-index-only')
  await dump(globSync(join(directory, '*.timeindex')), '--verify-index-only')
  await dump(globSync(join(directory, '*.{snapshot,txnindex}')))
}

/** Puts a partition's files into the folder of a stopped server that has a topic of the name. */
function move(from: string, server: Server, topic: string): void {
  const to = join(server.dataDirectory, `${topic}-0`)
  for (const file of globSync(join(to, '*.{log,index,timeindex,txnindex,snapshot}'))) rmSync(file)
  // The topic id differs: partition.metadata stays.
  for (const file of globSync(join(from, '*.{log,index,timeindex,txnindex,snapshot}'))) {
    copyFileSync(file, join(to, basename(file)))
  }
  copyFileSync(join(from, 'leader-epoch-checkpoint'), join(to, 'leader-epoch-checkpoint'))
}

for (const [first, second] of [
  ['millrace', 'kafka'],
  ['kafka', 'millrace'],
] as [ServerKind, ServerKind][]) {
  test(`what ${first} has compacted, ${second} reads, and goes on with`, { skip }, async (context) => {
    const config = { 'log.cleaner.backoff.ms': '100', 'log.initial.task.delay.ms': '100' }
    const random = new Random(7)
    const one = await testServer(context, {
      kind: first,
      config: first === 'kafka' ? config : { 'log.cleaner.backoff.ms': '100' },
    })
    const tables = new Map<string, Map<string, string>>()
    for (const codec of codecs) {
      await readyTopic(one.address, codec, 1, topicConfig)
      const [early, late] = [rowsOf(random, 1500, 1), rowsOf(random, 500, 2)]
      await produce(one, codec, codec, early)
      await produce(one, codec, codec, late)
      tables.set(codec, tableOf([...early, ...late]))
    }
    for (const codec of codecs) {
      await compacted(one, codec, 1400)
      const { table, rows } = await consume(one, codec)
      assert.deepEqual(sorted(table), sorted(tables.get(codec) as Map<string, string>))
      assert.ok(rows < 1500, `${rows} rows are left`)
    }
    assert.equal(await one.stop(), one.cleanExitCode)
    for (const codec of codecs) await checkFiles(join(one.dataDirectory, `${codec}-0`))

    const two = await testServer(context, {
      kind: second,
      config: second === 'kafka' ? config : { 'log.cleaner.backoff.ms': '100' },
    })
    for (const codec of codecs) await readyTopic(two.address, codec, 1, topicConfig)
    await two.stop()
    for (const codec of codecs) move(join(one.dataDirectory, `${codec}-0`), two, codec)
    const before = new Map(codecs.map((codec) => [codec, bytesOf(logsOf(join(two.dataDirectory, `${codec}-0`)))]))
    await two.start()
    for (const codec of codecs) {
      const table = tables.get(codec) as Map<string, string>
      assert.deepEqual(sorted((await consume(two, codec)).table), sorted(table))
      const more = rowsOf(random, 1000, 3)
      await produce(two, codec, codec, more)
      await compacted(two, codec, 2500)
      const found = await consume(two, codec)
      assert.deepEqual(sorted(found.table), sorted(tableOf(more, table)))
      assert.ok(found.rows < 1500, `${found.rows} rows are left`)
      assert.ok((before.get(codec) as number) > 0)
    }
    await two.stop()
    for (const codec of codecs) await checkFiles(join(two.dataDirectory, `${codec}-0`))
  })
}

test('transactions that we compacted, Kafka reads as committed', { skip }, async (context) => {
  const folder = temporaryDirectory('compacted')
  context.after(() => removeTemporary(folder))
  const env = nodeEnv()
  const manager = await LogManager.open(env, { folder, nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA' })
  const log = await manager.openLog({ topic: 'tx', partition: 0 }, TEST_TOPIC_ID, {
    ...defaultLogConfig,
    cleanupPolicy: ['compact'],
    segmentBytes: 20_000,
    minCleanableDirtyRatio: 0,
    deleteRetentionMs: 0,
  })
  manager.startCleaner({ highWatermarkOf: () => log.durableOffset, limits: () => ({ backoffMs: 100 }) })
  const model = new CompactionModel(new Random(11), { keys: 200 })
  for (let turn = 0; turn < 4; turn++) {
    for (let i = 0; i < 150; i++) model.append(log, Date.now())
    await log.flush()
    const { rounds } = manager.cleanerStats
    await until('a round', () => Promise.resolve(manager.cleanerStats.rounds > rounds ? true : null), {
      timeoutMs: 20_000,
      everyMs: 50,
    })
  }
  model.endAll(log, Date.now())
  await model.compare(log, { wallMs: Date.now(), deleteRetentionMs: 0 })
  assert.ok(manager.cleanerStats.bytesRemoved > 10_000)
  assert.equal(await manager.close(), true)
  await checkFiles(join(folder, 'tx-0'))

  const kafka = await testServer(context, { kind: 'kafka' })
  await readyTopic(kafka.address, 'tx', 1)
  await kafka.stop()
  move(join(folder, 'tx-0'), kafka, 'tx')
  await kafka.start()
  const { table } = await consume(kafka, 'tx')
  assert.deepEqual([...table.keys()].sort(), model.committedKeys().sort())
})

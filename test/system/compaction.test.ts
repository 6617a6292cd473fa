import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../support/process.ts'
import { readyTopic, retried } from '../support/retry.ts'
import type { Server } from '../support/server.ts'
import { testServer } from '../support/test-server.ts'
import { commitOffset, committedOffset, findCoordinator } from '../support/wire-calls.ts'

const groups = ['readers', 'writers', 'others']
const config = {
  'offsets.topic.num.partitions': '1',
  'log.cleaner.backoff.ms': '100',
  'log.cleaner.min.cleanable.ratio': '0.01',
  // Commits of another millisecond begin a segment.
  'log.roll.ms': '1',
}

function compactedTo(server: Server): number {
  const file = join(server.dataDirectory, 'cleaner-offset-checkpoint')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return Number(/^__consumer_offsets 0 ([0-9]+)$/m.exec(text)?.[1] ?? 0)
}

function bytesOfOffsets(server: Server): number {
  const logs = globSync(join(server.dataDirectory, '__consumer_offsets-0', '*.log'))
  return logs.reduce((sum, file) => sum + statSync(file).size, 0)
}

test('committed offsets are compacted, and found again after the process was killed', async (context) => {
  const server = await testServer(context, { config })
  await readyTopic(server.address, 'orders', 1)
  await retried(server.address, (wire) => findCoordinator(wire, 'readers'))
  const commits = 200
  const commit = (from: number) =>
    retried(server.address, async (wire) => {
      for (let i = from; i < from + commits; i++) {
        for (const group of groups) await commitOffset(wire, { group, topic: 'orders', partition: 0, offset: i })
      }
    })
  const check = async (offset: number) => {
    for (const group of groups) {
      const found = await retried(server.address, (wire) =>
        committedOffset(wire, { group, topic: 'orders', partition: 0 }),
      )
      assert.equal(found, offset, group)
    }
  }
  for (const from of [0, commits]) {
    await commit(from)
    await until(
      'the offsets are compacted',
      () => Promise.resolve(compactedTo(server) > (from + commits) * groups.length - 20 ? true : null),
      { timeoutMs: 30_000, everyMs: 50 },
    )
    await server.kill()
    assert.ok(bytesOfOffsets(server) < commits * groups.length * 20, `${bytesOfOffsets(server)} bytes`)
    await server.start()
    await check(from + commits - 1)
  }
})

import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { kafkaTools, runTool } from '../support/kafka-oracle.ts'
import { readyTopic, retried } from '../support/retry.ts'
import type { Server } from '../support/server.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'
import { commitOffset, findCoordinator, initProducerId, produce } from '../support/wire-calls.ts'
import { makeBatch } from '../support/wire-batch.ts'

const skip = await skipWithout('kafka')
const complaint =
  /corrupt|mismatch|isvalid: false|non consecutive|not match|exception|error|misordered|out of order|failed/i

/** Kafka's kafka-dump-log on these files; fails at any word of complaint. */
async function dump(files: readonly string[], ...options: string[]): Promise<string> {
  assert.ok(files.length > 0, 'nothing to dump')
  const { code, stdout, stderr } = await runTool('dump-log', [...options, '--files', files.join(',')])
  const lines = `${stdout}${stderr}`.split('\n')
  const complaints = lines.filter((line) => complaint.test(line) && !/"name":/.test(line))
  assert.deepEqual(complaints, [])
  assert.equal(code, 0, stderr)
  return stdout
}

const filesOf = (server: Server, pattern: string) =>
  globSync(pattern, { cwd: server.dataDirectory })
    .sort()
    .map((file) => join(server.dataDirectory, file))

test('kafka-dump-log reads what a node leaves on disk without complaint', { skip }, async (context) => {
  assert.ok(kafkaTools['dump-log'])
  const server = await testServer(context)
  const topic = 'orders'
  // Several segments: 1 MiB is the least that may be set.
  await readyTopic(server.address, topic, 1, { 'segment.bytes': '1048576' })
  const producer = await retried(server.address, initProducerId)
  const batches = 60
  await retried(server.address, async (wire) => {
    for (let i = 0; i < batches; i++) {
      const values = Array.from({ length: 50 }, (_, j) => ({
        key: Buffer.from(`k${j}`),
        value: Buffer.alloc(1000, `${i}.${j} `),
      }))
      const batch = makeBatch(values, { ...producer, baseSequence: i * 50 }, 1_700_000_000_000 + i * 1000)
      assert.equal((await produce(wire, { topic, partition: 0, batch })).errorCode, 0)
    }
  })
  await retried(server.address, (wire) => findCoordinator(wire, 'readers'))
  await retried(server.address, (wire) => commitOffset(wire, { group: 'readers', topic, partition: 0, offset: 42 }))
  assert.equal(await server.stop(), server.cleanExitCode)

  const segments = filesOf(server, `${topic}-0/*.log`)
  assert.ok(segments.length >= 3, `${segments.length} segments`)
  const data = await dump(segments, '--deep-iteration', '--print-data-log')
  assert.equal(data.match(/^baseOffset: .* isvalid: true/gm)?.length, batches)
  assert.equal(data.match(/^\| offset: \d+ .* payload: /gm)?.length, batches * 50)
  await dump(filesOf(server, `${topic}-0/*.index`), '--index-sanity-check')
  await dump(filesOf(server, `${topic}-0/*.index`), '--verify-index-only')
  await dump(filesOf(server, `${topic}-0/*.timeindex`), '--verify-index-only')
  const producers = await dump(filesOf(server, `${topic}-0/*.snapshot`))
  assert.match(producers, new RegExp(`producerId: ${producer.producerId} `))

  const offsets = await dump(
    filesOf(server, '__consumer_offsets-*/*.log').filter((file) => existsSync(file)),
    '--offsets-decoder',
  )
  assert.match(offsets, /"group":"readers".*"topic":"orders".*"offset":42/)

  const metadata = await dump(filesOf(server, '__cluster_metadata-0/*.log'), '--cluster-metadata-decoder')
  for (const record of ['REGISTER_BROKER_RECORD', 'TOPIC_RECORD', 'PARTITION_RECORD', 'FEATURE_LEVEL_RECORD']) {
    assert.match(metadata, new RegExp(`"type":"${record}"`))
  }
  assert.match(metadata, /LeaderChange/)
  const checkpoints = readdirSync(join(server.dataDirectory, '__cluster_metadata-0')).filter((n) =>
    n.endsWith('.checkpoint'),
  )
  if (checkpoints.length > 0) {
    await dump(filesOf(server, '__cluster_metadata-0/*.checkpoint'), '--cluster-metadata-decoder')
  }
})

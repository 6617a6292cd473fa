import assert from 'node:assert/strict'
import { copyFileSync, globSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { runTool } from '../support/kafka-oracle.ts'
import { readyTopic, retried } from '../support/retry.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'
import { listOffset, produce } from '../support/wire-calls.ts'
import { makeBatch } from '../support/wire-batch.ts'

const skip = await skipWithout('kafka')
const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const rows = Array.from({ length: 3000 }, (_, i) => `${i} ${'row '.repeat(100)}end`)

test('the segments of a real Kafka, put in our folder, are read by us', { skip }, async (context) => {
  const kafka = await testServer(context, { kind: 'kafka' })
  for (const codec of codecs) {
    await readyTopic(kafka.address, codec, 1, { 'segment.bytes': '1048576' })
    const args = ['--bootstrap-server', kafka.address, '--topic', codec, '--compression-codec', codec]
    const { code, stderr } = await runTool('console-producer', args, { input: `${rows.join('\n')}\n` })
    assert.equal(code, 0, stderr)
  }
  assert.equal(await kafka.stop(), kafka.cleanExitCode)

  const millrace = await testServer(context)
  for (const codec of codecs) await readyTopic(millrace.address, codec, 1)
  await millrace.stop()
  for (const codec of codecs) {
    const ours = join(millrace.dataDirectory, `${codec}-0`)
    for (const file of globSync('*.{log,index,timeindex,snapshot}', { cwd: ours })) rmSync(join(ours, file))
    // The topic id differs: partition.metadata stays ours.
    for (const file of globSync(join(kafka.dataDirectory, `${codec}-0`, '*.{log,index,timeindex,snapshot}'))) {
      copyFileSync(file, join(ours, basename(file)))
    }
    copyFileSync(
      join(kafka.dataDirectory, `${codec}-0`, 'leader-epoch-checkpoint'),
      join(ours, 'leader-epoch-checkpoint'),
    )
  }
  await millrace.start()
  for (const topic of codecs) {
    const end = await retried(millrace.address, (wire) => listOffset(wire, { topic, partition: 0, timestamp: -1 }))
    assert.equal(end, rows.length, topic)
    const { stdout } = await runTool('console-consumer', [
      '--bootstrap-server',
      millrace.address,
      '--topic',
      topic,
      '--from-beginning',
      '--max-messages',
      String(rows.length),
      '--timeout-ms',
      '20000',
    ])
    assert.deepEqual(stdout.trimEnd().split('\n'), rows, topic)
    const batch = makeBatch([{ value: Buffer.from('ours') }])
    assert.deepEqual(await retried(millrace.address, (wire) => produce(wire, { topic, partition: 0, batch })), {
      errorCode: 0,
      baseOffset: rows.length,
    })
  }
})

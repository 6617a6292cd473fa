import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { nodeEnv } from '../env-node/node-env.ts'
import { MetadataNode } from '../testing/metadata-node.ts'
import { withTempDir } from '../testing/temp-dir.ts'
import { metadataFolder } from './format.ts'

const LIBS = process.env.MILLRACE_KAFKA_LIBS
const skip = LIBS === undefined && 'MILLRACE_KAFKA_LIBS is not set: no Apache Kafka to compare with'
const env = { ...nodeEnv(), log: { debug() {}, info() {}, warn() {}, error() {} } }

async function dump(file: string): Promise<string[]> {
  const tool = 'org.apache.kafka.tools.DumpLogSegments'
  const args = ['-cp', `${LIBS}/*`, tool, '--cluster-metadata-decoder', '--deep-iteration', '--files', file]
  const { stdout, stderr } = await promisify(execFile)('java', args, { maxBuffer: 64 * 1024 ** 2 })
  assert.equal(stderr, '')
  return stdout.split('\n')
}

test("Kafka's own tool reads our metadata log and snapshots, every record of them", { skip }, async () => {
  await withTempDir(async (dir) => {
    let node = await MetadataNode.start(env, dir)
    await node.createTopics({ name: 'orders', partitions: 3 })
    await node.createTopics({ name: 'big', partitions: 5000 })
    await node.stop()
    node = await MetadataNode.start(env, dir)
    await node.controller.takeSnapshot()
    const { image } = node.controller
    await node.stop()
    const folder = metadataFolder(dir)
    for (const name of readdirSync(folder).filter((each) => /\.(log|checkpoint)$/.test(each))) {
      const lines = await dump(`${folder}/${name}`)
      const batches = lines.filter((line) => line.startsWith('baseOffset:'))
      assert.ok(batches.length > 0 && batches.every((line) => line.includes('isvalid: true')), name)
      for (const line of lines) assert.doesNotMatch(line, /could not|unknown|exception|error/i)
      if (!name.endsWith('.checkpoint') || name.startsWith('00000000000000000000-')) continue
      const of = (type: string) => lines.filter((line) => line.includes(`"type":"${type}"`)).length
      assert.equal(of('TOPIC_RECORD'), 2)
      assert.equal(of('PARTITION_RECORD'), 5003)
      assert.ok(lines.some((line) => line.includes(image.topic('orders')?.topicId ?? '?')))
      assert.ok(lines.some((line) => line.includes('SnapshotFooter')))
    }
  })
})

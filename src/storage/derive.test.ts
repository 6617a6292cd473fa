import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TopicPartition } from '../model/ids.ts'
import { buildBatch, controlRecordKey } from '../protocol/batch/build.ts'
import type { Machine } from '../sim/machine.ts'
import { simulate } from '../sim/sim.ts'
import { LogModel, TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
import { LogManager } from './log-manager.ts'
import type { PartitionLog } from './partition-log.ts'

const folder = '/data'
const config: LogConfig = { ...defaultLogConfig, segmentBytes: 2000, indexIntervalBytes: 100 }
const partitionOf = (partition: number): TopicPartition => ({ topic: 't', partition })

async function open(machine: Machine): Promise<LogManager> {
  return LogManager.open(machine.boot().env, { folder, nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA' })
}

function read(machine: Machine, path: string): Buffer {
  const { content } = machine.tree.file(path)
  const bytes = Buffer.alloc(content.length)
  content.read(bytes, 0)
  return bytes
}

function write(machine: Machine, path: string, bytes: Buffer): void {
  const file = machine.tree.open(path, 'create')
  file.truncate(0)
  file.write([bytes], 0)
}

test('derived files that were swapped between two partitions change no answer', async () => {
  for (const isClean of [true, false]) {
    await simulate({ seed: 5 }, async (sim) => {
      const machine = sim.addMachine('node')
      const manager = await open(machine)
      const models = [new LogModel(sim.streams.workload), new LogModel(sim.streams.workload)] as const
      for (const [partition, model] of models.entries()) {
        const log = await manager.openLog(partitionOf(partition), TEST_TOPIC_ID, config)
        for (let i = 0; i < 40; i++) {
          // The epochs of the one are far above those of the other.
          const batch = model.nextBatch({ recordsMax: partition + 2 })
          log.appendAsLeader(batch, { leaderEpoch: partition * 10 + Math.floor(i / 15), wallMs: 1 })
          model.appended(batch)
        }
        await log.flush()
      }
      const epochs = models.map((_, partition) => manager.get(partitionOf(partition))?.epochs.entries)
      await manager.checkpoint()
      if (isClean) await manager.close()
      else machine.losePower('none')
      const [one, two] = [0, 1].map((partition) =>
        machine.tree.list(`${folder}/t-${partition}`).filter((name) => !/\.log$|metadata/.test(name)),
      ) as [string[], string[]]
      const contents = new Map([...one, ...two].map((name) => [name, [Buffer.alloc(0), Buffer.alloc(0)]]))
      for (const [partition, names] of [one, two].entries()) {
        for (const name of names) {
          const path = `${folder}/t-${partition}/${name}`
          const pair = contents.get(name) as Buffer[]
          pair[partition] = read(machine, path)
          machine.tree.removeFile(path)
        }
      }
      for (const [name, [first, second]] of contents) {
        write(machine, `${folder}/t-1/${name}`, first as Buffer)
        write(machine, `${folder}/t-0/${name}`, second as Buffer)
      }
      const again = await open(machine)
      assert.deepEqual(await again.openFound(() => config), [])
      for (const [partition, model] of models.entries()) {
        const log = again.get(partitionOf(partition)) as PartitionLog
        await model.compare(log)
        for (let i = 0; i < 5; i++) await model.compareDerived(log)
        assert.deepEqual(log.epochs.entries, epochs[partition], `epochs of ${partition}, clean ${isClean}`)
      }
    })
  }
})

test('a transaction index that was removed is missed and made again', async () => {
  await simulate({ seed: 6 }, async (sim) => {
    const machine = sim.addMachine('node')
    const manager = await open(machine)
    const log = await manager.openLog(partitionOf(0), TEST_TOPIC_ID, config)
    for (let i = 0; i < 30; i++) {
      const producer = { producerId: 1, producerEpoch: 0, isTransactional: true }
      const data = { records: [{ key: null, value: Buffer.alloc(200), timestampMs: 5 }], baseSequence: i }
      const marker = {
        records: [{ key: controlRecordKey(i % 2), value: Buffer.alloc(6), timestampMs: 5 }],
        isControl: true,
      }
      log.appendAsLeader(buildBatch({ ...producer, ...data }), { leaderEpoch: 0, wallMs: 1 })
      log.appendAsLeader(buildBatch({ ...producer, ...marker }), { leaderEpoch: 0, wallMs: 1 })
    }
    const wanted = await log.abortedTransactions(0, log.endOffset)
    assert.equal(wanted.length, 15)
    await manager.close()
    const indexes = machine.tree.list(`${folder}/t-0`).filter((name) => name.endsWith('.txnindex'))
    assert.ok(indexes.length > 2)
    for (const name of indexes) machine.tree.removeFile(`${folder}/t-0/${name}`)
    const again = await open(machine)
    await again.openFound(() => config)
    const reopened = again.get(partitionOf(0)) as PartitionLog
    assert.deepEqual(await reopened.abortedTransactions(0, reopened.endOffset), wanted)
    await again.close()
    assert.deepEqual(
      machine.tree.list(`${folder}/t-0`).filter((name) => name.endsWith('.txnindex')),
      indexes,
    )
  })
})

test('a swap that a cleaner did not finish is finished: the new file stands for all segments in its range', async () => {
  await simulate({ seed: 8 }, async (sim) => {
    const machine = sim.addMachine('node')
    const manager = await open(machine)
    const log = await manager.openLog(partitionOf(0), TEST_TOPIC_ID, config)
    const model = new LogModel(sim.streams.workload)
    for (let i = 0; i < 40; i++) {
      const batch = model.nextBatch()
      log.appendAsLeader(batch, { leaderEpoch: 0, wallMs: 1 })
      model.appended(batch)
    }
    await manager.close()
    const logs = machine.tree.list(`${folder}/t-0`).filter((name) => name.endsWith('.log'))
    assert.ok(logs.length > 4)
    const joined = Buffer.concat(logs.slice(0, 3).map((name) => read(machine, `${folder}/t-0/${name}`)))
    write(machine, `${folder}/t-0/${logs[0]}.swap`, joined)
    // One of the three old ones is gone already.
    machine.tree.removeFile(`${folder}/t-0/${logs[1]}`)
    const again = await open(machine)
    assert.deepEqual(await again.openFound(() => config), [])
    const reopened = again.get(partitionOf(0)) as PartitionLog
    assert.equal(reopened.segmentCount, logs.length - 2)
    await model.compare(reopened)
    await model.compareDerived(reopened)
  })
})

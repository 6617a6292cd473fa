import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TopicId } from '../model/ids.ts'
import type { Machine, Process } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { LogModel, TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig } from './config.ts'
import { CorruptLogError } from './errors.ts'
import { LogManager, type LogManagerOptions } from './log-manager.ts'
import type { PartitionLog } from './partition-log.ts'

/** Whose directory it is, when a crash or damage has taken the file that says so. */
const folder = '/data'
const topicPartition = { topic: 't', partition: 0 }
const metadata = `${folder}/t-0/partition.metadata`
const options: LogManagerOptions = { folder, nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA', checkpointIntervalMs: 50 }
const otherId = 'b3RoZXItdG9waWMtaWQtMg' as TopicId

function world(name: string, body: (sim: Sim, machine: Machine) => Promise<void>): void {
  test(name, () => simulate({ seed: 5 }, (sim) => body(sim, sim.addMachine('node'))).then(() => undefined))
}

async function open(process: Process): Promise<{ manager: LogManager; log: PartitionLog }> {
  const manager = await LogManager.open(process.env, options)
  return { manager, log: await manager.openLog(topicPartition, TEST_TOPIC_ID, defaultLogConfig) }
}

function fill(sim: Sim, log: PartitionLog): LogModel {
  const model = new LogModel(sim.streams.workload)
  for (let i = 0; i < 5; i++) {
    const batch = model.nextBatch()
    log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1_000_000 })
    model.appended(batch)
  }
  return model
}

function strays(machine: Machine): string[] {
  return machine.tree.list(folder).filter((name) => name.endsWith('-stray'))
}

/** What a power cut leaves of a file that was not synced. */
const REMAINS: Record<string, (machine: Machine) => void> = {
  'is missing': (machine) => machine.tree.removeFile(metadata),
  'is empty': (machine) => {
    machine.tree.file(metadata).content.truncate(0)
    machine.tree.file(metadata).durable?.truncate(0)
  },
}

for (const [what, damage] of Object.entries(REMAINS)) {
  world(`a partition whose creation a crash cut short is created: its name ${what}`, async (_, machine) => {
    const first = machine.boot()
    await open(first)
    machine.kill(first)
    damage(machine)
    const manager = await LogManager.open(machine.boot().env, options)
    assert.deepEqual(await manager.openFound(), [])
    const log = await manager.openLog(topicPartition, otherId, defaultLogConfig)
    assert.equal(log.topicId, otherId)
    await manager.close()
    const again = await LogManager.open(machine.boot().env, options)
    assert.deepEqual(await again.openFound(), [])
    assert.equal(again.get(topicPartition)?.topicId, otherId)
    assert.deepEqual(strays(machine), [])
  })

  world(`records that were never acknowledged are not another topic's: the name ${what}`, async (sim, machine) => {
    const first = machine.boot()
    const { log } = await open(first)
    fill(sim, log)
    await sim.until(() => log.writtenOffset > 0, { withinMs: 1000, what: 'something is in the file' })
    machine.kill(first)
    damage(machine)
    const manager = await LogManager.open(machine.boot().env, options)
    const [faulty] = await manager.openFound()
    assert.match(faulty?.error.message ?? '', /to which topic the data beside it belongs/)
    const fresh = await manager.openLog(topicPartition, otherId, defaultLogConfig)
    assert.equal(fresh.endOffset, 0)
    assert.equal(strays(machine).length, 1)
  })

  world(`durable records are refused, and stay, when their topic's name ${what}`, async (sim, machine) => {
    const first = machine.boot()
    const { manager, log } = await open(first)
    const model = fill(sim, log)
    await log.flush()
    await manager.checkpoint()
    machine.kill(first)
    const said = machine.tree.file(metadata)
    const content = Buffer.alloc(said.content.length)
    said.content.read(content, 0)
    damage(machine)
    const second = machine.boot()
    await assert.rejects(open(second), CorruptLogError)
    assert.deepEqual(strays(machine), [])
    const file = await second.env.disk.open(metadata, 'create')
    await file.write([content], 0)
    await file.close()
    machine.kill(second)
    const again = await open(machine.boot())
    await model.compare(again.log)
  })
}

world(
  'two partitions of a topic whose directories were swapped are refused until they are back',
  async (sim, machine) => {
    const first = machine.boot()
    const { manager, log } = await open(first)
    const second = { topic: 't', partition: 1 }
    const other = await manager.openLog(second, TEST_TOPIC_ID, defaultLogConfig)
    const [model, otherModel] = [fill(sim, log), fill(sim, other)]
    await manager.close()
    const swap = async (process: Process) => {
      const { disk } = process.env
      await disk.rename(`${folder}/t-0`, `${folder}/aside`)
      await disk.rename(`${folder}/t-1`, `${folder}/t-0`)
      await disk.rename(`${folder}/aside`, `${folder}/t-1`)
    }
    await swap(first)
    for (let start = 0; start < 2; start++) {
      const again = await LogManager.open(machine.boot().env, options)
      const faulty = await again.openFound()
      assert.deepEqual(faulty.map(({ error }) => error.message.replace(/.*: /, '')).toSorted(), [
        'the directory is that of partition 0 of the same topic',
        'the directory is that of partition 1 of the same topic',
      ])
      await assert.rejects(again.openLog(topicPartition, TEST_TOPIC_ID, defaultLogConfig), CorruptLogError)
      await again.close()
    }
    await swap(machine.boot())
    const last = await open(machine.boot())
    await model.compare(last.log)
    await otherModel.compare(await last.manager.openLog(second, TEST_TOPIC_ID, defaultLogConfig))
  },
)

world(
  'a directory that Kafka wrote is opened, and says its partition once something is appended',
  async (sim, machine) => {
    const first = machine.boot()
    const { manager, log } = await open(first)
    const model = fill(sim, log)
    await log.flush()
    machine.kill(first)
    const text = Buffer.from(`version: 0\ntopic_id: ${TEST_TOPIC_ID}`)
    const file = machine.tree.file(metadata)
    for (const content of [file.content, file.durable]) {
      content?.truncate(0)
      content?.write(text, 0)
    }
    const again = await open(machine.boot())
    await model.compare(again.log)
    const batch = model.nextBatch()
    again.log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1 })
    await again.log.flush()
    const content = Buffer.alloc(file.content.length)
    machine.tree.file(metadata).content.read(content, 0)
    assert.equal(content.toString(), `version: 0\ntopic_id: ${TEST_TOPIC_ID}\npartition: 0\n`)
    assert.equal(manager.logCount, 1)
  },
)

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Env } from '../env/env.ts'
import type { TopicId } from '../model/ids.ts'
import { buildBatch } from '../protocol/batch/build.ts'
import type { Machine } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { LogModel, TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
import { CorruptLogError, DataFolderError, TopicIdMismatchError } from './errors.ts'
import { LogManager, type LogManagerOptions } from './log-manager.ts'
import type { PartitionLog } from './partition-log.ts'

const folder = '/data'
const topicPartition = { topic: 't', partition: 0 }
const options: LogManagerOptions = { folder, nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA', checkpointIntervalMs: 50 }
const config: LogConfig = { ...defaultLogConfig, segmentBytes: 2000, indexIntervalBytes: 100, fileDeleteDelayMs: 1000 }

interface Opened {
  readonly manager: LogManager
  readonly log: PartitionLog
}

async function open(env: Env, logConfig = config): Promise<Opened> {
  const manager = await LogManager.open(env, options)
  return { manager, log: await manager.openLog(topicPartition, TEST_TOPIC_ID, logConfig) }
}

/** Several of them fit into one segment, whatever the seed. */
const SMALL = { recordsMax: 2, bytesMax: 60 }

function fill(log: PartitionLog, model: LogModel, batches: number, size = {}): void {
  for (let i = 0; i < batches; i++) {
    const batch = model.nextBatch(size)
    log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1_000_000 })
    model.appended(batch)
  }
}

/** A machine, a model, and one opened log. */
function withLog(
  name: string,
  body: (sim: Sim, machine: Machine, opened: Opened, model: LogModel) => Promise<void>,
): void {
  test(name, async () => {
    await simulate({ seed: 7 }, async (sim) => {
      const machine = sim.addMachine('node')
      await body(sim, machine, await open(machine.boot().env), new LogModel(sim.streams.workload))
    })
  })
}

function refusedAs(reason: DataFolderError['reason']): (error: unknown) => boolean {
  return (error) => error instanceof DataFolderError && error.reason === reason
}

withLog(
  'a folder in use, of another cluster or node, or of a newer version is refused with the reason',
  async (_, machine, { manager }) => {
    await assert.rejects(LogManager.open(machine.boot().env, options), refusedAs('in-use'))
    const { directoryId } = manager.metaProperties
    await manager.close({ brokerEpoch: 12 })
    const { env } = machine.boot()
    await assert.rejects(
      LogManager.open(env, { ...options, clusterId: 'b3RoZXItY2x1c3Rlci1pZA' }),
      refusedAs('other-cluster'),
    )
    await assert.rejects(LogManager.open(env, { ...options, nodeId: 2 }), refusedAs('other-node'))
    const again = await LogManager.open(env, options)
    assert.equal(again.previousBrokerEpoch, 12)
    assert.equal(again.metaProperties.directoryId, directoryId)
    await again.close()
    machine.tree.file(`${folder}/meta.properties`).write([Buffer.from('version=2\nx='), Buffer.alloc(80, 120)], 0)
    await assert.rejects(LogManager.open(machine.boot().env, options), refusedAs('newer-version'))
  },
)

withLog(
  'after a clean stop nothing of the log is read, after a crash the marker is not believed',
  async (sim, machine, { manager, log }, model) => {
    fill(log, model, 50)
    await manager.close()
    const second = await open(machine.boot().env)
    assert.equal(second.manager.previousBrokerEpoch, -1)
    assert.equal(second.log.endOffset, model.endOffset)
    assert.equal(second.manager.usage.openFiles, 0)
    fill(second.log, model, 3)
    await second.log.flush()
    machine.losePower('all')
    const third = await open(machine.boot().env)
    assert.equal(third.manager.previousBrokerEpoch, null)
    await model.compare(third.log)
    await sim.runFor(1)
  },
)

withLog(
  'a failed sync is latched: nothing is acknowledged afterwards, though the disk recovers',
  async (sim, machine, { log }, model) => {
    fill(log, model, 5)
    await log.flush()
    const durable = log.durableOffset
    const failures: Error[] = []
    log.listener = { progressed: () => {}, failed: (_, error) => failures.push(error) }
    machine.failDisk({ operation: 'sync', pathEnd: '.log', code: 'EIO' })
    fill(log, model, 5)
    await assert.rejects(log.flush(), /EIO/)
    await sim.runFor(5000)
    assert.equal(log.durableOffset, durable)
    assert.equal(failures.length, 1)
    assert.equal(log.refusal?.kind, 'failed')
    await assert.rejects(log.flush(), /EIO/)
    await assert.rejects(log.close())
  },
)

test('what a start accepts after a failed sync outlives a power cut, though the kernel forgot it', async () => {
  await simulate({ seed: 9 }, async (sim) => {
    const machine = sim.addMachine('node')
    const model = new LogModel(sim.streams.workload)
    const first = machine.boot()
    const { log } = await open(first.env, { ...config, segmentBytes: 100_000 })
    machine.failDisk({ operation: 'sync', pathEnd: '.log', code: 'EIO' })
    fill(log, model, 5)
    await assert.rejects(log.flush(), /EIO/)
    machine.kill(first)
    const second = await open(machine.boot().env)
    assert.equal(second.log.durableOffset, model.endOffset)
    fill(second.log, model, 30)
    await second.log.flush()
    machine.losePower('all')
    await model.compare((await open(machine.boot().env)).log)
  })
})

withLog('a failed sync of the directory is latched too', async (_, machine, { log }, model) => {
  machine.failDisk({ operation: 'syncDirectory', pathEnd: 't-0', code: 'EIO' })
  fill(log, model, 1)
  await assert.rejects(log.flush(), /EIO/)
  assert.equal(log.durableOffset, 0)
})

withLog('a failed sync of an index is latched too', async (sim, machine, { manager, log }, model) => {
  machine.failDisk({ operation: 'sync', pathEnd: '.timeindex', code: 'EIO' })
  fill(log, model, 30)
  await log.flush()
  await manager.checkpoint()
  await sim.until(() => log.failure !== null, { withinMs: 1000, what: 'the log fails' })
})

withLog(
  'a full disk refuses appends, serves reads, and takes records again by itself',
  async (sim, machine, { manager, log }, model) => {
    fill(log, model, 10)
    await log.flush()
    const changes: number[] = []
    manager.onSpaceChange(() => changes.push(manager.outOfSpace))
    machine.leaveRoom(500)
    fill(log, model, 20)
    await sim.until(() => !log.isWritable, { withinMs: 1000, what: 'the log refuses' })
    assert.equal(log.refusal?.kind, 'out-of-space')
    assert.match(manager.readOnlyReason ?? '', /no room in \/data/)
    await sim.runFor(10_000)
    assert.ok(log.durableOffset < log.endOffset)
    assert.ok(log.unwrittenBytes > 0)
    // No part of a batch that was not written lies in the files.
    await model.compare(log)
    machine.leaveRoom(Number.POSITIVE_INFINITY)
    await sim.until(() => log.isWritable, { withinMs: 2000, what: 'the log takes records' })
    await log.flush()
    assert.deepEqual(changes, [1, 0])
    machine.losePower('all')
    const again = await open(machine.boot().env)
    await model.compare(again.log)
  },
)

withLog('a full disk that loses power keeps what was acknowledged', async (sim, machine, { log }, model) => {
  fill(log, model, 10)
  machine.leaveRoom(1200)
  fill(log, model, 20)
  await sim.runFor(3000)
  model.crash(log)
  machine.losePower('any')
  machine.leaveRoom(Number.POSITIVE_INFINITY)
  const again = await open(machine.boot().env)
  model.recovered(again.log)
  await model.compare(again.log)
})

withLog(
  'damage below the recovery point is refused and never cut off',
  async (sim, machine, { manager, log }, model) => {
    fill(log, model, 30)
    await log.flush()
    await manager.checkpoint()
    machine.losePower('none')
    const path = `${folder}/t-0/00000000000000000000.log`
    machine.flipBit(path, 700)
    const bytes = machine.tree.file(path).content.length
    const { env } = machine.boot()
    const second = await LogManager.open(env, options)
    const [faulty] = await second.openFound(() => config)
    // The flipped batch lies below the recovery point, where a start does not look; a reader meets it.
    assert.equal(faulty, undefined)
    const opened = second.get(topicPartition) as PartitionLog
    await assert.rejects(async () => {
      for (let offset = 0; offset < opened.endOffset; ) {
        const limits = { maxBytes: 500, limitOffset: opened.endOffset, atLeastOneBatch: true }
        offset = (await opened.read(offset, limits)).endOffset
      }
    }, CorruptLogError)
    assert.equal(opened.refusal?.kind, 'failed')
    assert.equal(machine.tree.file(path).content.length, bytes)
    await sim.runFor(1)
  },
)

withLog('a log shorter than it was durable is refused', async (_, machine, { manager, log }, model) => {
  fill(log, model, 4, SMALL)
  await log.flush()
  await manager.checkpoint()
  machine.losePower('none')
  const file = machine.tree.file(`${folder}/t-0/00000000000000000000.log`)
  file.content.truncate(file.content.length - 1)
  file.durable?.truncate(file.content.length)
  const second = await LogManager.open(machine.boot().env, options)
  const [faulty] = await second.openFound(() => config)
  assert.ok(faulty?.error instanceof CorruptLogError, String(faulty?.error))
  assert.equal(second.get(topicPartition), null)
})

withLog('damage in a closed segment is no torn tail', async (_, machine, { log }, model) => {
  fill(log, model, 30)
  await log.flush()
  machine.losePower('none')
  machine.flipBit(`${folder}/t-0/00000000000000000000.log`, 700)
  await assert.rejects(open(machine.boot().env), CorruptLogError)
})

withLog(
  'without the recovery points nothing good is cut off with what is damaged',
  async (_, machine, { log }, model) => {
    fill(log, model, 4, SMALL)
    await log.flush()
    machine.losePower('none')
    machine.tree.removeFile(`${folder}/recovery-point-offset-checkpoint`)
    machine.flipBit(`${folder}/t-0/00000000000000000000.log`, 70)
    await assert.rejects(open(machine.boot().env), /good batches follow/)
  },
)

test('a tail torn at any byte of its last batches is cut to whole batches', async () => {
  await simulate({ seed: 3 }, async (sim) => {
    const machine = sim.addMachine('node')
    const model = new LogModel(sim.streams.workload)
    const first = await open(machine.boot().env, { ...config, segmentBytes: 100_000 })
    fill(first.log, model, 6)
    await first.log.flush()
    machine.losePower('none')
    const path = `${folder}/t-0/00000000000000000000.log`
    const whole = Buffer.alloc(machine.tree.file(path).content.length)
    machine.tree.file(path).content.read(whole, 0)
    for (let length = 0; length <= whole.length; length += 7) {
      const file = machine.tree.file(path)
      for (const content of [file.content, file.durable]) {
        content?.truncate(0)
        content?.write(whole.subarray(0, length), 0)
        // Every other time the file was extended, and the data never came.
        if (length % 2 === 0) content?.write(Buffer.alloc(whole.length - length), length)
      }
      const { manager, log } = await open(machine.boot().env, config)
      const kept = model.batches.reduce(
        (end, { bytes, endOffset }) => (lengthTo(model, endOffset) <= length && bytes ? endOffset : end),
        0,
      )
      assert.equal(log.endOffset, kept, `torn at ${length}`)
      assert.equal(log.durableOffset, kept)
      assert.equal(manager.usage.tailBytes, 0)
      machine.losePower('any')
      assert.equal((await open(machine.boot().env)).log.endOffset, kept, `recovered, then cut again, at ${length}`)
      machine.losePower('none')
    }
  })
})

function lengthTo(model: LogModel, endOffset: number): number {
  return model.batches.reduce((sum, batch) => sum + (batch.endOffset <= endOffset ? batch.bytes.length : 0), 0)
}

withLog('the data folder of a node among the partitions is left where it is', async (_, machine, opened) => {
  await opened.manager.close()
  const { env } = machine.boot()
  const path = `${options.folder}/other-3`
  await env.disk.makeDirectory(path)
  await (await env.disk.open(`${path}/meta.properties`, 'create')).close()
  const manager = await LogManager.open(env, options)
  await manager.quarantine({ topic: 'other', partition: 3 })
  assert.ok(await env.disk.stat(`${path}/meta.properties`))
})

withLog(
  'a folder of another topic of the same name is refused; set aside, its name is free',
  async (_, machine, { manager, log }, model) => {
    fill(log, model, 3)
    await manager.close()
    const second = await LogManager.open(machine.boot().env, options)
    const otherId = 'b3RoZXItdG9waWMtaWQtMg' as TopicId
    await assert.rejects(second.openLog(topicPartition, otherId, config), TopicIdMismatchError)
    await second.quarantine(topicPartition)
    const fresh = await second.openLog(topicPartition, otherId, config)
    assert.equal(fresh.endOffset, 0)
    assert.ok(machine.tree.list(folder).some((name) => /^t-0\.[0-9a-f]{32}-stray$/.test(name)))
  },
)

withLog(
  'a deleted partition made again is empty, also after a crash',
  async (sim, machine, { manager, log }, model) => {
    fill(log, model, 30)
    await log.flush()
    await manager.checkpoint()
    await manager.deleteLog(topicPartition)
    const otherId = 'b3RoZXItdG9waWMtaWQtMg' as TopicId
    const fresh = await manager.openLog(topicPartition, otherId, config)
    const batch = buildBatch({ records: [{ key: null, value: Buffer.from('new') }] })
    fresh.appendAsLeader(batch, { leaderEpoch: 0, wallMs: 1 })
    await fresh.flush()
    await sim.runFor(100)
    machine.losePower('all')
    const second = await LogManager.open(machine.boot().env, options)
    assert.deepEqual(await second.openFound(() => config), [])
    assert.equal(second.get(topicPartition)?.topicId, otherId)
    assert.equal(second.get(topicPartition)?.endOffset, 1)
    assert.equal(machine.tree.list(folder).filter((name) => name.endsWith('-delete')).length, 0)
  },
)

withLog(
  'a torn tail of a log that was never opened is not taken for a clean one',
  async (_, machine, { log }, model) => {
    fill(log, model, 4, SMALL)
    await log.flush()
    machine.losePower('none')
    const file = machine.tree.file(`${folder}/t-0/00000000000000000000.log`)
    file.content.truncate(file.content.length - 10)
    file.durable?.truncate(file.content.length)
    const second = await LogManager.open(machine.boot().env, options)
    await second.close()
    const third = await open(machine.boot().env)
    assert.equal(third.log.endOffset, model.batches[2]?.endOffset)
  },
)

withLog('what was set aside is not opened with the others found', async (_, machine, { manager }) => {
  await manager.openLog({ topic: 't', partition: 1 }, TEST_TOPIC_ID, config)
  await manager.close()
  const second = await LogManager.open(machine.boot().env, options)
  const found = await second.readFound()
  assert.deepEqual(
    found
      .map(({ topicPartition: { partition }, topicId }) => [partition, topicId])
      .sort((a, b) => Number(a[0]) - Number(b[0])),
    [
      [0, TEST_TOPIC_ID],
      [1, TEST_TOPIC_ID],
    ],
  )
  await second.quarantine(topicPartition)
  assert.deepEqual(await second.openFound(() => config), [])
  assert.equal(second.get(topicPartition), null)
  assert.equal(second.logCount, 1)
})

withLog(
  'the first record in a log that was closed cleanly without any outlives a power cut, with its identity',
  async (_, machine, { manager }, model) => {
    await manager.close()
    const second = await open(machine.boot().env)
    fill(second.log, model, 1)
    await second.log.flush()
    machine.losePower('all')
    await model.compare((await open(machine.boot().env)).log)
  },
)

test('the identity of a log that a crash left before its first sync is durable as soon as its records count as such', async () => {
  await simulate({ seed: 9 }, async (sim) => {
    const machine = sim.addMachine('node')
    const model = new LogModel(sim.streams.workload)
    const first = machine.boot()
    const { log } = await open(first.env)
    // Written, but not synced; then only the process dies.
    machine.failDisk({ operation: 'sync', pathEnd: '.log', code: 'EIO' })
    fill(log, model, 1)
    await assert.rejects(log.flush(), /EIO/)
    machine.kill(first)
    const second = await open(machine.boot().env)
    assert.equal(second.log.durableOffset, model.endOffset)
    await second.manager.checkpoint()
    machine.losePower('all')
    await model.compare((await open(machine.boot().env)).log)
  })
})

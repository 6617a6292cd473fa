import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogUnavailableError } from '../env/replicated-log.ts'
import { batchesOf, recordsOf } from '../protocol/batch/records.ts'
import type { TopicId } from '../model/ids.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Machine } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { batchOf, ReplicaNode, topicIdOf } from '../testing/replica-node.ts'

async function withMachine(run: (machine: Machine, sim: Sim) => Promise<void>): Promise<void> {
  await simulate({ seed: 4 }, (sim) => run(sim.addMachine('one'), sim))
}

async function valuesIn(node: ReplicaNode, topic: string): Promise<string[]> {
  const all = Buffer.concat((await node.fetch(topic)).records ?? [])
  return [...batchesOf(all)].flatMap((at) => [...recordsOf(all, at)].map(({ value }) => value?.toString() ?? ''))
}

test('after a clean stop and after a power cut everything acknowledged is there, readable at once', () =>
  withMachine(async (machine) => {
    const first = await ReplicaNode.start(machine.boot().env)
    await first.createTopic('a')
    await first.produce('a', batchOf(['0']))
    await first.stop()
    const second = await ReplicaNode.start(machine.boot().env, { image: first.image })
    assert.deepEqual(await valuesIn(second, 'a'), ['0'])
    await second.produce('a', batchOf(['1']))
    machine.losePower('all')
    const third = await ReplicaNode.start(machine.boot().env, { image: second.image })
    assert.deepEqual(await valuesIn(third, 'a'), ['0', '1'])
    assert.equal((await third.produce('a', batchOf(['2']))).baseOffset, 2)
  }))

test('a retry after a restart is still known', () =>
  withMachine(async (machine) => {
    const first = await ReplicaNode.start(machine.boot().env)
    await first.createTopic('a')
    const batch = () => batchOf(['once'], { producerId: 3, producerEpoch: 0, baseSequence: 0 })
    await first.produce('a', batch())
    machine.losePower('all')
    const second = await ReplicaNode.start(machine.boot().env, { image: first.image })
    assert.equal((await second.produce('a', batch())).baseOffset, 0)
    assert.deepEqual(await valuesIn(second, 'a'), ['once'])
  }))

test('a topic deleted and created again begins empty, at 0, with the new id only', () =>
  withMachine(async (machine) => {
    const node = await ReplicaNode.start(machine.boot().env)
    await node.createTopic('a', { idByte: 1 })
    await node.produce('a', batchOf(['old']))
    await node.deleteTopic('a')
    assert.equal((await node.produce('a', batchOf(['x']))).errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    await node.createTopic('a', { idByte: 2 })
    assert.deepEqual(await valuesIn(node, 'a'), [])
    assert.equal((await node.produce('a', batchOf(['new']))).baseOffset, 0)
    assert.deepEqual(node.heard, ['lead a-0 epoch=0', 'resign a-0 epoch=0', 'lead a-0 epoch=0'])
    machine.losePower('all')
    const again = await ReplicaNode.start(machine.boot().env, { image: node.image })
    assert.deepEqual(await valuesIn(again, 'a'), ['new'])
  }))

test('a directory that the metadata does not know is set aside, not deleted, and not served', () =>
  withMachine(async (machine) => {
    const first = await ReplicaNode.start(machine.boot().env)
    const before = first.image
    await first.createTopic('a')
    await first.produce('a', batchOf(['precious']))
    await first.stop()
    const { env } = machine.boot()
    const second = await ReplicaNode.start(env, { image: before })
    assert.equal((await second.fetch('a')).errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    const kept = (await env.disk.list('/data')).filter((name) => name.startsWith('a-0'))
    assert.equal(kept.length, 1)
    assert.match(kept[0] as string, /stray$/)
    // A new topic of that name is not given the old records.
    await second.createTopic('a', { idByte: 9 })
    assert.deepEqual(await valuesIn(second, 'a'), [])
  }))

test('a damaged log is offline, alone, and kept as it is', () =>
  withMachine(async (machine) => {
    const first = await ReplicaNode.start(machine.boot().env)
    await first.createTopic('good', { idByte: 1 })
    await first.createTopic('bad', { idByte: 2, configs: { 'internal.segment.bytes': '200' } })
    for (const topic of ['good', 'bad'])
      for (const value of ['0', '1', '2', '3']) await first.produce(topic, batchOf([value]))
    machine.losePower('all')
    machine.flipBit('/data/bad-0/00000000000000000000.log', 70)
    const second = await ReplicaNode.start(machine.boot().env, { image: first.image })
    assert.deepEqual(await valuesIn(second, 'good'), ['0', '1', '2', '3'])
    const read = await second.fetch('bad')
    assert.equal(read.errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.equal((await second.produce('bad', batchOf(['4']))).errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.ok(second.heard.some((line) => line.startsWith('offline bad-0')))
    second.replicas.refreshGauges()
    assert.deepEqual([second.replicas.metrics.partitionsOffline, second.replicas.metrics.partitions], [1, 2])
  }))

test('a topic config takes effect at once', () =>
  withMachine(async (machine) => {
    const node = await ReplicaNode.start(machine.boot().env)
    await node.createTopic('a')
    await node.configure('a', 'max.message.bytes', '100')
    const refused = await node.produce('a', batchOf(['x'.repeat(100)]))
    assert.equal(refused.errorCode, ErrorCode.MESSAGE_TOO_LARGE)
    assert.match(refused.errorMessage ?? '', /maximum configured value of 100/)
    await node.configure('a', 'max.message.bytes', '1000')
    assert.equal((await node.produce('a', batchOf(['x'.repeat(100)]))).errorCode, 0)
  }))

test('retention deletes old segments, and never what is not committed', () =>
  withMachine(async (machine, sim) => {
    const node = await ReplicaNode.start(machine.boot().env, { retentionIntervalMs: 10_000 })
    await node.createTopic('a', { configs: { 'internal.segment.bytes': '200', 'retention.bytes': '300' } })
    for (let n = 0; n < 20; n++) await node.produce('a', batchOf([`${n}`]))
    await sim.runFor(11_000)
    const { logStartOffset } = await node.fetch('a', { offset: 20 })
    assert.ok(logStartOffset !== undefined && logStartOffset > 10 && logStartOffset < 20, `${logStartOffset}`)
  }))

test('a stop answers those who wait, with what became durable', () =>
  withMachine(async (machine, sim) => {
    const node = await ReplicaNode.start(machine.boot().env)
    await node.createTopic('a')
    const produced = node.produce('a', batchOf(['last']))
    const polling = node.fetch('a', { offset: 1, maxWaitMs: 600_000 })
    await node.stop()
    assert.equal((await produced).errorCode, 0)
    assert.equal((await polling).errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert.ok(sim.nowMs < 5000)
  }))

test('high watermarks are written down as Kafka does', () =>
  withMachine(async (machine, sim) => {
    const { env } = machine.boot()
    const node = await ReplicaNode.start(env)
    await node.createTopic('a', { partitions: 2 })
    await node.produce('a', batchOf(['0', '1']))
    await sim.runFor(6000)
    const text = (await env.disk.readFile('/data/replication-offset-checkpoint')).toString()
    const [version, count, ...lines] = text.trimEnd().split('\n')
    assert.deepEqual([version, count, ...lines.sort()], ['0', '2', 'a 0 2', 'a 1 0'])
  }))

test('a coordinator writes, waits for the commit, reads back, and hears of the end of its leadership', () =>
  withMachine(async (machine) => {
    const node = await ReplicaNode.start(machine.boot().env)
    await node.createTopic('__consumer_offsets', { more: { replicas: [1, 2], isr: [1] } })
    const log = node.led.get('__consumer_offsets-0')
    assert.ok(log !== undefined)
    assert.equal(log.append(batchOf(['a', 'b'])), 0)
    assert.deepEqual([log.endOffset, log.committedOffset], [2, 0])
    await log.committed(2)
    assert.equal(log.committedOffset, 2)
    assert.deepEqual(
      [...recordsOf(await log.read(0, 1000))].map(({ value }) => value?.toString()),
      ['a', 'b'],
    )
    assert.equal((await log.read(2, 1000)).length, 0)
    await node.configure('__consumer_offsets', 'max.message.bytes', '100')
    assert.throws(() => log.append(batchOf(['x'.repeat(200)])), { name: 'LogUnavailableError', reason: 'too-large' })
    assert.equal(log.refusal(), null)
    await node.change('__consumer_offsets', { isr: [1, 2] })
    log.append(batchOf(['c']))
    const waiting = log.committed(3)
    await node.change('__consumer_offsets', { leader: 2 })
    await assert.rejects(waiting, { reason: 'resigned' })
    assert.equal(log.refusal()?.reason, 'resigned')
    assert.throws(() => log.append(batchOf(['d'])), LogUnavailableError)
    await assert.rejects(log.committed(3), { reason: 'resigned' })
  }))

test('a coordinator is told of a full disk and of too few replicas before it decides', () =>
  withMachine(async (machine) => {
    const node = await ReplicaNode.start(machine.boot().env)
    await node.createTopic('t', { configs: { 'min.insync.replicas': '2' }, more: { replicas: [1, 2], isr: [1, 2] } })
    const log = node.led.get('t-0')
    assert.equal(log?.refusal(), null)
    await node.change('t', { isr: [1] })
    assert.equal(log?.refusal()?.reason, 'not-enough-replicas')
    await node.configure('t', 'min.insync.replicas', '1')
    machine.leaveRoom(10)
    await node.produce('t', batchOf(['x'.repeat(1000)]), { timeoutMs: 2000 })
    assert.equal(log?.refusal()?.reason, 'out-of-space')
  }))

test('a log whose epochs are ahead of the metadata is readable, and refuses records', () =>
  withMachine(async (machine) => {
    const first = await ReplicaNode.start(machine.boot().env)
    await first.createTopic('a')
    const before = first.image
    await first.change('a', { leader: 1 })
    await first.produce('a', batchOf(['0']))
    await first.stop()
    const second = await ReplicaNode.start(machine.boot().env, { image: before })
    assert.deepEqual(await valuesIn(second, 'a'), ['0'])
    const refused = await second.produce('a', batchOf(['1']))
    assert.equal(refused.errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.match(refused.errorMessage ?? '', /leader epoch 1/)
  }))

test('a topic created on a full disk comes to life when there is room, or leaves nothing behind', () =>
  withMachine(async (machine, sim) => {
    const node = await ReplicaNode.start(machine.boot().env)
    machine.leaveRoom(0)
    await node.createTopic('a', { idByte: 1 })
    await node.createTopic('b', { idByte: 2 })
    assert.equal((await node.produce('a', batchOf(['x']))).errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await node.deleteTopic('b')
    machine.leaveRoom(10 ** 9)
    await sim.runFor(15_000)
    assert.equal((await node.produce('a', batchOf(['x']))).errorCode, 0)
    await node.createTopic('b', { idByte: 3 })
    assert.equal((await node.produce('b', batchOf(['x']))).errorCode, 0)
  }))

test('a stop does not wait for a full disk', () =>
  withMachine(async (machine, sim) => {
    const node = await ReplicaNode.start(machine.boot().env)
    await node.createTopic('a')
    machine.leaveRoom(10)
    const stuck = node.produce('a', batchOf(['x'.repeat(1000)]))
    await sim.runFor(100)
    const before = sim.nowMs
    await node.replicas.stop()
    assert.ok(sim.nowMs - before < 1000)
    assert.equal((await stuck).errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
  }))

test('a partition whose directory cannot be read is offline alone, and nothing of it is touched', () =>
  withMachine(async (machine) => {
    const first = await ReplicaNode.start(machine.boot().env)
    await first.createTopic('a', { idByte: 1 })
    await first.createTopic('b', { idByte: 2 })
    await first.produce('a', batchOf(['0']))
    await first.produce('b', batchOf(['0']))
    await first.stop()
    machine.losePower('none')
    machine.failDisk({ operation: 'open', pathEnd: 'a-0/partition.metadata', code: 'EIO', times: 1000 })
    const second = await ReplicaNode.start(machine.boot().env, { image: first.image })
    assert.ok(second.heard.includes('offline a-0 DiskError'), second.heard.join('; '))
    assert.equal((await second.fetch('a')).errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.deepEqual(await valuesIn(second, 'b'), ['0'])
    assert.deepEqual(
      machine.tree.list('/data').filter((name) => name.startsWith('a-')),
      ['a-0'],
    )
  }))

test('what a crash left of a deleted topic is deleted at the next start; what nobody speaks of is kept', () =>
  withMachine(async (machine, sim) => {
    const first = await ReplicaNode.start(machine.boot().env)
    const before = first.image
    await first.createTopic('deleted', { idByte: 1 })
    await first.createTopic('unknown', { idByte: 2 })
    for (const topic of ['deleted', 'unknown']) await first.produce(topic, batchOf(['0']))
    machine.losePower('none')
    const removedTopics = async () => new Set([topicIdOf(1) as TopicId])
    await ReplicaNode.start(machine.boot().env, { image: before, removedTopics })
    await sim.runFor(1000)
    const left = machine.tree.list('/data').filter((name) => /^(deleted|unknown)-0/.test(name))
    assert.equal(left.length, 1, left.join())
    assert.match(left[0] ?? '', /^unknown-0\.[0-9a-f]{32}-stray$/)
  }))

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildBatch } from '../protocol/batch/build.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Machine } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { batchOf, ReplicaNode, topicIdOf } from '../testing/replica-node.ts'

/** Node 1 with a topic `orders` in a simulated world. */
async function withNode(run: (node: ReplicaNode, machine: Machine, sim: Sim) => Promise<void>): Promise<void> {
  await simulate({ seed: 1 }, async (sim) => {
    const machine = sim.addMachine('one')
    const node = await ReplicaNode.start(machine.boot().env)
    await node.createTopic('orders')
    await run(node, machine, sim)
  })
}

test('acks=all is answered when the records are on the platter, with their offset', () =>
  withNode(async (node) => {
    assert.equal((await node.produce('orders', batchOf(['a', 'b']))).baseOffset, 0)
    const second = await node.produce('orders', batchOf(['c']))
    assert.deepEqual([second.errorCode, second.baseOffset, second.logAppendTimeMs], [0, 2, -1])
    const log = node.logs.get({ topic: 'orders', partition: 0 })
    assert.ok((log?.durableOffset ?? 0) >= 3)
  }))

test('what acks asks for decides when the answer comes', () =>
  withNode(async (node) => {
    await node.produce('orders', batchOf(['first']))
    const log = node.logs.get({ topic: 'orders', partition: 0 })
    assert.ok(log !== null)
    const seen: string[] = []
    const record = (what: string) => () => {
      seen.push(`${what} written=${log.writtenOffset} durable=${log.durableOffset}`)
    }
    await Promise.all([
      node.produce('orders', batchOf(['x']), { acks: 0 }).then(record('acks=0')),
      node.produce('orders', batchOf(['y']), { acks: 1 }).then(record('acks=1')),
      node.produce('orders', batchOf(['z']), { acks: -1 }).then(record('acks=-1')),
    ])
    assert.equal(seen[0], 'acks=0 written=1 durable=1')
    // Such a topic is written through: what is in the file is on the platter.
    assert.match(seen.find((line) => line.startsWith('acks=1')) ?? '', /^acks=1 written=([34]) durable=\1$/)
    assert.match(seen.find((line) => line.startsWith('acks=-1')) ?? '', /^acks=-1 written=4 durable=4$/)
  }))

test('a relaxed topic is acknowledged from the page cache', () =>
  withNode(async (node) => {
    await node.configure('orders', 'durability.mode', 'relaxed')
    const log = node.logs.get({ topic: 'orders', partition: 0 })
    await node.produce('orders', batchOf(['a']))
    assert.deepEqual([log?.writtenOffset, log?.durableOffset], [1, 0])
    node.replicas.refreshGauges()
    assert.equal(node.replicas.metrics.partitionsRelaxed, 1)
  }))

test('a retry is answered with the offset of the first time, and only when that is committed', () =>
  withNode(async (node, machine) => {
    const batch = (sequence: number) =>
      batchOf([`${sequence}`], { producerId: 5, producerEpoch: 0, baseSequence: sequence })
    await node.produce('orders', batch(0))
    machine.stallDisk(1000)
    const log = node.logs.get({ topic: 'orders', partition: 0 })
    const first = node.produce('orders', batch(1))
    const again = node.produce('orders', batch(1)).then((answer) => ({ answer, durable: log?.durableOffset }))
    assert.equal((await first).baseOffset, 1)
    assert.deepEqual(
      [(await again).answer.errorCode, (await again).answer.baseOffset, (await again).durable],
      [0, 1, 2],
    )
    assert.equal((await node.produce('orders', batch(0))).baseOffset, 0)
    assert.equal(log?.endOffset, 2)
    const gap = await node.produce('orders', batch(7))
    assert.equal(gap.errorCode, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert.match(gap.errorMessage ?? '', /sequence 7/)
    assert.equal(gap.baseOffset, -1)
  }))

test('who may not, what is not there, and what is not led here', () =>
  withNode(async (node) => {
    await node.createTopic('elsewhere', { idByte: 9, more: { replicas: [2], isr: [2], leader: 2, leaderEpoch: 4 } })
    const one = batchOf(['x'])
    const codeOf = async (topic: string, options = {}) => (await node.produce(topic, one, options)).errorCode
    assert.equal(await codeOf('nothing'), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.equal(await codeOf('', { version: 13, topicId: topicIdOf(99) }), ErrorCode.UNKNOWN_TOPIC_ID)
    assert.equal(await codeOf('orders', { acks: 2 }), ErrorCode.INVALID_REQUIRED_ACKS)
    const moved = await node.produce('elsewhere', one)
    assert.equal(moved.errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert.deepEqual(moved.currentLeader, { leaderId: 2, leaderEpoch: 4 })
    node.denied.add('orders')
    assert.equal(await codeOf('orders'), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    await node.createTopic('__consumer_offsets', { idByte: 8 })
    assert.equal(await codeOf('__consumer_offsets'), ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert.equal(await codeOf('__consumer_offsets', { clientId: '__admin_client' }), 0)
    node.denied.clear()
    assert.equal(await codeOf('', { version: 13, topicId: topicIdOf(7) }), 0)
  }))

test('too few replicas in sync: refused before the append with acks=all, and only then', () =>
  withNode(async (node) => {
    await node.createTopic('wide', {
      idByte: 9,
      configs: { 'min.insync.replicas': '2' },
      more: { replicas: [1, 2, 3], isr: [1] },
    })
    const refused = await node.produce('wide', batchOf(['x']))
    assert.equal(refused.errorCode, ErrorCode.NOT_ENOUGH_REPLICAS)
    assert.match(refused.errorMessage ?? '', /current ISR 1 .* requirement of 2/)
    assert.equal(node.logs.get({ topic: 'wide', partition: 0 })?.endOffset, 0)
    assert.equal((await node.produce('wide', batchOf(['y']), { acks: 1 })).baseOffset, 0)
    // Written, but nobody may see it.
    assert.equal((await node.fetch('wide')).highWatermark, 0)
  }))

test('the deadline passes: the client hears it, and the record may still be committed later', () =>
  withNode(async (node, machine, sim) => {
    machine.stallDisk(5000)
    const before = sim.nowMs
    const answer = await node.produce('orders', batchOf(['slow']), { timeoutMs: 100 })
    assert.equal(answer.errorCode, ErrorCode.REQUEST_TIMED_OUT)
    assert.ok(sim.nowMs - before >= 100 && sim.nowMs - before < 200)
    await sim.runFor(6000)
    assert.equal((await node.fetch('orders')).highWatermark, 1)
  }))

test('leadership moves or the topic goes while a produce waits', () =>
  withNode(async (node, _machine, sim) => {
    await node.createTopic('moves', { idByte: 8, more: { replicas: [1, 2], isr: [1, 2] } })
    const waiting = node.produce('moves', batchOf(['x']))
    await sim.runFor(100)
    await node.change('moves', { leader: 2 })
    const answer = await waiting
    assert.equal(answer.errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert.deepEqual(answer.currentLeader, { leaderId: 2, leaderEpoch: 1 })
    await node.createTopic('goes', { idByte: 9, more: { replicas: [1, 2], isr: [1, 2] } })
    const doomed = node.produce('goes', batchOf(['x']))
    await node.deleteTopic('goes')
    assert.equal((await doomed).errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.deepEqual(node.heard, [
      'lead orders-0 epoch=0',
      'lead moves-0 epoch=0',
      'resign moves-0 epoch=0',
      'lead goes-0 epoch=0',
      'resign goes-0 epoch=0',
    ])
  }))

test('a full disk refuses produce, serves fetch, and takes records again when there is room', () =>
  withNode(async (node, machine, sim) => {
    await node.produce('orders', batchOf(['kept']))
    machine.leaveRoom(10)
    const stuck = await node.produce('orders', batchOf(['too much']), { timeoutMs: 2000 })
    assert.equal(stuck.errorCode, ErrorCode.REQUEST_TIMED_OUT)
    const refused = await node.produce('orders', batchOf(['more']))
    assert.equal(refused.errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.ok(refused.errorMessage)
    assert.equal((await node.fetch('orders')).highWatermark, 1)
    machine.leaveRoom(10 ** 9)
    await sim.until(() => node.logs.isWritable, { withinMs: 60_000, what: 'the log takes records again' })
    assert.equal((await node.produce('orders', batchOf(['again']))).errorCode, 0)
  }))

test('a failed sync takes the partition offline, and nothing is acknowledged', () =>
  withNode(async (node, machine) => {
    await node.produce('orders', batchOf(['good']))
    machine.failDisk({ operation: 'sync', pathEnd: '.log', code: 'EIO', times: 1 })
    assert.equal((await node.produce('orders', batchOf(['bad']))).errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.equal((await node.produce('orders', batchOf(['after']))).errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.equal((await node.fetch('orders')).errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.match(node.heard.at(-1) ?? '', /^offline orders-0/)
  }))

test('transactions are refused as long as there is nobody to end them', () =>
  withNode(async (node) => {
    const batch = batchOf(['x'], { producerId: 1, producerEpoch: 0, baseSequence: 0, isTransactional: true })
    assert.equal((await node.produce('orders', batch)).errorCode, ErrorCode.INVALID_TXN_STATE)
  }))

test('record errors name the records', () =>
  withNode(async (node) => {
    await node.createTopic('table', { idByte: 9, configs: { 'cleanup.policy': 'compact' } })
    const records = ['a', null, 'b'].map((key) => ({
      key: key === null ? null : Buffer.from(key),
      value: null,
      timestampMs: node.env.clock.wallMs(),
    }))
    const answer = await node.produce('table', buildBatch({ records }))
    assert.equal(answer.errorCode, ErrorCode.INVALID_RECORD)
    assert.deepEqual(
      answer.recordErrors?.map(({ batchIndex }) => batchIndex),
      [1],
    )
  }))

test('a topic that stamps the append time says which', () =>
  withNode(async (node) => {
    await node.configure('orders', 'message.timestamp.type', 'LogAppendTime')
    const { logAppendTimeMs } = await node.produce('orders', batchOf(['x']))
    assert.ok(Math.abs((logAppendTimeMs ?? 0) - node.env.clock.wallMs()) < 1000)
  }))

test('a batch that was under way behind a refused one does not take its place, where the log knows nothing of its producer', () =>
  withNode(async (node) => {
    const more = { replicas: [1, 2], isr: [1] }
    await node.createTopic('wide', { idByte: 9, configs: { 'min.insync.replicas': '2' }, more })
    const batch = (sequence: number) =>
      batchOf([`${sequence}`], { producerId: 5, producerEpoch: 0, baseSequence: sequence })
    assert.equal((await node.produce('wide', batch(0))).errorCode, ErrorCode.NOT_ENOUGH_REPLICAS)
    await node.configure('wide', 'min.insync.replicas', '1')
    const second = await node.produce('wide', batch(1))
    assert.equal(second.errorCode, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert.match(second.errorMessage ?? '', /sequence 1 .* sequence 0/)
    // In order, as clients send them again.
    assert.equal((await node.produce('wide', batch(0))).baseOffset, 0)
    assert.equal((await node.produce('wide', batch(1))).baseOffset, 1)
  }))

test('nor where the topic was not known when the first one came', () =>
  withNode(async (node) => {
    const batch = (sequence: number) =>
      batchOf([`${sequence}`], { producerId: 5, producerEpoch: 0, baseSequence: sequence })
    assert.equal((await node.produce('late', batch(0))).errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    await node.createTopic('late', { idByte: 9 })
    assert.equal((await node.produce('late', batch(1))).errorCode, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert.equal((await node.produce('late', batch(0))).baseOffset, 0)
  }))

test('a producer that gave the refused batch up goes on, in a new epoch at once and in the same one after ten minutes', () =>
  withNode(async (node, _machine, sim) => {
    const batch = (id: number, producerEpoch: number, sequence: number) =>
      batchOf(['x'], { producerId: id, producerEpoch, baseSequence: sequence })
    for (const id of [5, 6]) await node.produce('late', batch(id, 0, 3))
    await node.createTopic('late', { idByte: 9 })
    assert.equal((await node.produce('late', batch(5, 1, 7))).errorCode, 0)
    assert.equal((await node.produce('late', batch(6, 0, 4))).errorCode, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    await sim.runFor(10 * 60_000)
    assert.equal((await node.produce('late', batch(6, 0, 4))).errorCode, 0)
  }))

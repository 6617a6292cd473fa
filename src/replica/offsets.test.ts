import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildBatch } from '../protocol/batch/build.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Machine } from '../sim/machine.ts'
import { simulate } from '../sim/sim.ts'
import { batchOf, ReplicaNode } from '../testing/replica-node.ts'

const T = 1_767_225_600_000

async function withNode(run: (node: ReplicaNode, machine: Machine) => Promise<void>): Promise<void> {
  await simulate({ seed: 3 }, async (sim) => {
    const machine = sim.addMachine('one')
    const node = await ReplicaNode.start(machine.boot().env)
    await node.createTopic('a')
    await run(node, machine)
  })
}

async function list(
  node: ReplicaNode,
  timestamp: number,
  { topic = 'a', version = 11, leaderEpoch = -1, isolation = 0 } = {},
) {
  const partitions = [{ partitionIndex: 0, currentLeaderEpoch: leaderEpoch, timestamp, positions: [] }]
  const request = { replicaId: -1, isolationLevel: isolation, topics: [{ name: topic, partitions }], timeoutMs: 1000 }
  const { topics } = await node.replicas.listOffsets(request, node.context(version))
  const answer = topics[0]?.partitions[0]
  assert.ok(answer)
  return answer.errorCode === 0 ? [answer.offset, answer.timestamp, answer.leaderEpoch] : answer.errorCode
}

function at(...timestamps: number[]): Buffer {
  return buildBatch({ records: timestamps.map((ms) => ({ key: null, value: Buffer.from('v'), timestampMs: T + ms })) })
}

test('ends, by timestamp exactly, and the newest', () =>
  withNode(async (node) => {
    assert.deepEqual(await list(node, -1), [0, -1, 0])
    assert.deepEqual(await list(node, T), [-1, -1, -1])
    await node.produce('a', at(0, 500, 200))
    await node.produce('a', at(300, 900))
    assert.deepEqual(await list(node, -1), [5, -1, 0])
    assert.deepEqual(await list(node, -1, { isolation: 1 }), [5, -1, 0])
    assert.deepEqual(await list(node, -2), [0, -1, 0])
    assert.deepEqual(await list(node, -4), [0, -1, 0])
    assert.deepEqual(await list(node, T + 1), [1, T + 500, 0])
    assert.deepEqual(await list(node, T + 501), [4, T + 900, 0])
    assert.deepEqual(await list(node, T + 901), [-1, -1, -1])
    assert.deepEqual(await list(node, -3), [4, T + 900, 0])
    // No tiered store: nothing there, and nothing waits to go there.
    assert.deepEqual(await list(node, -5), [-1, -1, -1])
    assert.deepEqual(await list(node, -6), [-1, -1, -1])
  }))

test('questions that a version does not know, and partitions that are not led here', () =>
  withNode(async (node) => {
    assert.equal(await list(node, -3, { version: 6 }), ErrorCode.UNSUPPORTED_VERSION)
    assert.equal(await list(node, -6, { version: 10 }), ErrorCode.UNSUPPORTED_VERSION)
    assert.equal(await list(node, -1, { topic: 'nothing' }), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.equal(await list(node, -1, { leaderEpoch: 4 }), ErrorCode.UNKNOWN_LEADER_EPOCH)
    node.denied.add('a')
    assert.equal(await list(node, -1), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
  }))

test('the end is not told while it may lie below one that was told before', () =>
  withNode(async (node) => {
    await node.createTopic('wide', { idByte: 8, more: { replicas: [1, 2], isr: [1] } })
    await node.produce('wide', batchOf(['0', '1']))
    assert.deepEqual(await list(node, -1, { topic: 'wide' }), [2, -1, 0])
    // Records that only this replica has, and a new epoch that begins after them while another one must confirm.
    await node.change('wide', { isr: [1, 2] })
    await node.produce('wide', batchOf(['2']), { acks: 1 })
    await node.change('wide', { leader: 1 })
    assert.equal(await list(node, -1, { topic: 'wide' }), ErrorCode.OFFSET_NOT_AVAILABLE)
    assert.equal(await list(node, -1, { topic: 'wide', version: 4 }), ErrorCode.LEADER_NOT_AVAILABLE)
    assert.equal(await list(node, T + 10 ** 9, { topic: 'wide' }), ErrorCode.OFFSET_NOT_AVAILABLE)
    assert.deepEqual(await list(node, -2, { topic: 'wide' }), [0, -1, 0])
  }))

test('whoever asks for the end after the first record with acks=1 finds it there', () =>
  withNode(async (node) => {
    // A new file is there for good when its folder is written, some time after the record is in the file.
    await node.createTopic('new', { idByte: 9 })
    await node.produce('new', batchOf(['first']), { acks: 1 })
    assert.deepEqual(await list(node, -1, { topic: 'new' }), [1, -1, 0])
  }))

async function remove(node: ReplicaNode, offset: number, topic = 'a') {
  const request = { topics: [{ name: topic, partitions: [{ partitionIndex: 0, offset }] }], timeoutMs: 1000 }
  const { topics } = await node.replicas.deleteRecords(request, node.context(2))
  const answer = topics[0]?.partitions[0]
  return answer?.errorCode === 0 ? answer.lowWatermark : `error ${answer?.errorCode}`
}

test('records are deleted up to an offset, for good', () =>
  withNode(async (node, machine) => {
    for (const value of ['0', '1', '2', '3']) await node.produce('a', batchOf([value]))
    assert.equal(await remove(node, 2), 2)
    assert.equal(await remove(node, 1), 2)
    assert.equal(await remove(node, 5), `error ${ErrorCode.OFFSET_OUT_OF_RANGE}`)
    assert.equal(await remove(node, -2), `error ${ErrorCode.OFFSET_OUT_OF_RANGE}`)
    assert.equal((await node.fetch('a', { offset: 1 })).errorCode, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert.deepEqual(await list(node, -2), [2, -1, 0])
    machine.losePower('all')
    const again = await ReplicaNode.start(machine.boot().env, { image: node.image })
    assert.deepEqual(await list(again, -2), [2, -1, 0])
    assert.equal(await remove(again, -1), 4)
    assert.deepEqual(await list(again, -1), [4, -1, 0])
  }))

test('whose records may not be deleted', () =>
  withNode(async (node) => {
    await node.createTopic('__consumer_offsets', { idByte: 8 })
    await node.createTopic('table', { idByte: 9, configs: { 'cleanup.policy': 'compact' } })
    assert.equal(await remove(node, 0, '__consumer_offsets'), `error ${ErrorCode.INVALID_TOPIC_EXCEPTION}`)
    assert.equal(await remove(node, 0, 'table'), `error ${ErrorCode.POLICY_VIOLATION}`)
    assert.equal(await remove(node, 0, 'nothing'), `error ${ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}`)
  }))

test('where an epoch ended, and who writes here', () =>
  withNode(async (node) => {
    await node.produce('a', batchOf(['0', '1'], { producerId: 77, producerEpoch: 2, baseSequence: 0 }))
    await node.change('a', { leader: 1 })
    await node.produce('a', batchOf(['2']))
    const ends = (leaderEpoch: number) => {
      const request = {
        replicaId: -1,
        topics: [{ topic: 'a', partitions: [{ partition: 0, currentLeaderEpoch: 1, leaderEpoch }] }],
      }
      return node.replicas.offsetForLeaderEpoch(request, node.context(4)).topics[0]?.partitions[0]
    }
    assert.deepEqual(ends(0), { partition: 0, errorCode: 0, leaderEpoch: 0, endOffset: 2 })
    assert.deepEqual(ends(1), { partition: 0, errorCode: 0, leaderEpoch: 1, endOffset: 3 })
    assert.deepEqual(ends(2), { partition: 0, errorCode: 0, leaderEpoch: -1, endOffset: -1 })
    const request = { topics: [{ name: 'a', partitionIndexes: [0, 1] }] }
    const { topics } = node.replicas.describeProducers(request, node.context(0))
    const [first, second] = topics[0]?.partitions ?? []
    assert.equal(first?.activeProducers.length, 1)
    const { producerId, producerEpoch, lastSequence, currentTxnStartOffset } = first.activeProducers[0] ?? {}
    assert.deepEqual([producerId, producerEpoch, lastSequence, currentTxnStartOffset], [77, 2, 1, -1])
    assert.equal(second?.errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
  }))

test('the log directory and what lies in it', () =>
  withNode(async (node) => {
    await node.createTopic('b', { idByte: 8, partitions: 2 })
    const batch = batchOf(['x'])
    await node.produce('a', batch)
    const all = await node.replicas.describeLogDirs({ topics: null })
    const [dir] = all.results
    assert.equal(dir?.logDir, '/data')
    assert.deepEqual(
      dir.topics.map(({ name, partitions }) => [name, partitions.map(({ partitionSize }) => partitionSize)]),
      [
        ['a', [batch.length]],
        ['b', [0, 0]],
      ],
    )
    const some = await node.replicas.describeLogDirs({ topics: [{ topic: 'b', partitions: [1] }] })
    assert.deepEqual(
      some.results[0]?.topics.map(({ name, partitions }) => [name, partitions.length]),
      [['b', 1]],
    )
  }))

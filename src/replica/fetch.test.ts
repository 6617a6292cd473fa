import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import { recordsOf } from '../protocol/batch/records.ts'
import { batchesOf } from '../protocol/batch/records.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Machine } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { batchOf, type FetchOptions, fetchRequest, ReplicaNode, topicIdOf } from '../testing/replica-node.ts'

/** Node 1 with topics `a` and `b` in a simulated world; little is kept in memory with `tailBytes`. */
async function withNode(
  run: (node: ReplicaNode, machine: Machine, sim: Sim) => Promise<void>,
  tailBytes = 32 * 1024 * 1024,
): Promise<void> {
  await simulate({ seed: 2 }, async (sim) => {
    const machine = sim.addMachine('one')
    const node = await ReplicaNode.start(machine.boot().env, { storage: { tailBytesPerLogMax: tailBytes } })
    await node.createTopic('a', { idByte: 1 })
    await node.createTopic('b', { idByte: 2 })
    await run(node, machine, sim)
  })
}

function valuesOf(records: readonly Buffer[] | null | undefined): string[] {
  const all = Buffer.concat(records ?? [])
  return [...batchesOf(all)].flatMap((at) => [...recordsOf(all, at)].map(({ value }) => value?.toString() ?? ''))
}

test('what was acknowledged is read, from any offset, as whole batches', () =>
  withNode(async (node) => {
    await node.produce('a', batchOf(['0', '1', '2']))
    await node.produce('a', batchOf(['3']))
    const all = await node.fetch('a')
    assert.deepEqual(valuesOf(all.records), ['0', '1', '2', '3'])
    assert.deepEqual([all.highWatermark, all.lastStableOffset, all.logStartOffset], [4, 4, 0])
    assert.equal(all.abortedTransactions, null)
    assert.deepEqual(valuesOf((await node.fetch('a', { offset: 2 })).records), ['0', '1', '2', '3'])
    assert.deepEqual(valuesOf((await node.fetch('a', { offset: 3 })).records), ['3'])
    const end = await node.fetch('a', { offset: 4 })
    assert.deepEqual([end.errorCode, valuesOf(end.records)], [0, []])
    assert.deepEqual((await node.fetch('a', { offset: 0, readCommitted: true })).abortedTransactions, [])
  }))

test('of a batch that does not fit beside others nothing is said, as Kafka does', () =>
  withNode(async (node) => {
    for (const topic of ['a', 'b']) await node.produce(topic, batchOf(['0']))
    const request = fetchRequest(
      [
        ['a', {}],
        ['b', { partitionMaxBytes: 1 }],
      ],
      { readCommitted: true },
    )
    const { responses } = await node.replicas.fetch(request, node.context(12))
    const [first, second] = responses.map(({ partitions }) => partitions[0])
    assert.deepEqual([valuesOf(first?.records), first?.abortedTransactions], [['0'], []])
    assert.deepEqual([valuesOf(second?.records), second?.abortedTransactions], [[], null])
  }))

test('nothing is read that is not committed', () =>
  withNode(async (node, machine, sim) => {
    await node.produce('a', batchOf(['0']))
    machine.stallDisk(1000)
    const produced = node.produce('a', batchOf(['1']))
    const during = await node.fetch('a')
    assert.deepEqual([during.highWatermark, valuesOf(during.records)], [1, ['0']])
    // Beyond what is committed, but not beyond the end: no error.
    assert.equal((await node.fetch('a', { offset: 2 })).errorCode, 0)
    assert.equal((await node.fetch('a', { offset: 3 })).errorCode, ErrorCode.OFFSET_OUT_OF_RANGE)
    await produced
    assert.equal((await node.fetch('a')).highWatermark, 2)
    await sim.runFor(1)
  }))

test('a partition that cannot be read says why', () =>
  withNode(async (node) => {
    await node.createTopic('elsewhere', { idByte: 9, more: { replicas: [2], isr: [2], leader: 2, leaderEpoch: 3 } })
    await node.change('a', { leader: 1 })
    const code = async (topic: string, options: FetchOptions = {}) =>
      (await node.fetch(topic, { maxWaitMs: 9999, ...options })).errorCode
    assert.equal(await code('nothing'), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert.equal(await code('', { topicId: topicIdOf(77), version: 13 }), ErrorCode.UNKNOWN_TOPIC_ID)
    assert.equal(await code('a', { offset: -1 }), ErrorCode.OFFSET_OUT_OF_RANGE)
    assert.equal(await code('a', { leaderEpoch: 0 }), ErrorCode.FENCED_LEADER_EPOCH)
    assert.equal(await code('a', { leaderEpoch: 2 }), ErrorCode.UNKNOWN_LEADER_EPOCH)
    assert.equal(await code('a', { leaderEpoch: 1, maxWaitMs: 0 }), 0)
    const moved = await node.fetch('elsewhere', { version: 16, topicId: topicIdOf(9) })
    assert.equal(moved.errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert.deepEqual(moved.currentLeader, { leaderId: 2, leaderEpoch: 3 })
    node.denied.add('a')
    assert.equal(await code('a'), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
  }))

test('a history that parted from ours is told where', () =>
  withNode(async (node) => {
    await node.produce('a', batchOf(['0', '1']))
    await node.change('a', { leader: 1 })
    await node.produce('a', batchOf(['2']))
    const diverging = await node.fetch('a', { offset: 3, lastFetchedEpoch: 0, maxWaitMs: 9999 })
    assert.deepEqual(diverging.divergingEpoch, { epoch: 0, endOffset: 2 })
    assert.deepEqual(valuesOf(diverging.records), [])
    assert.equal((await node.fetch('a', { offset: 3, lastFetchedEpoch: 1 })).divergingEpoch, undefined)
  }))

test('a long poll is answered by the record it waits for, or by time', () =>
  withNode(async (node, _machine, sim) => {
    const start = sim.nowMs
    const empty = await node.fetch('a', { maxWaitMs: 300 })
    assert.deepEqual([empty.errorCode, valuesOf(empty.records)], [0, []])
    assert.ok(sim.nowMs - start >= 300 && sim.nowMs - start < 350, `${sim.nowMs - start} ms`)
    const waiting = node.fetch('a', { maxWaitMs: 60_000 })
    await sim.runFor(50)
    assert.equal(node.replicas.metrics.fetchesParked, 1)
    await node.produce('a', batchOf(['now']))
    assert.deepEqual(valuesOf((await waiting).records), ['now'])
    assert.ok(sim.nowMs - start < 1000)
    assert.equal(node.replicas.metrics.fetchesParked, 0)
  }))

test('minBytes counts over all partitions', () =>
  withNode(async (node, _machine, sim) => {
    const one = batchOf(['x'.repeat(500)])
    const minBytes = one.length * 2
    const request = fetchRequest(
      [
        ['a', {}],
        ['b', {}],
      ],
      { maxWaitMs: 60_000, minBytes },
    )
    const answer = Promise.resolve(node.replicas.fetch(request, node.context(12)))
    let done = false
    void answer.then(() => {
      done = true
    })
    await node.produce('a', one)
    await sim.runFor(100)
    assert.ok(!done)
    await node.produce('b', batchOf(['y'.repeat(500)]))
    const { responses } = await answer
    assert.deepEqual(
      responses.map(({ topic, partitions }) => [topic, partitions[0]?.records?.length]),
      [
        ['a', 1],
        ['b', 1],
      ],
    )
  }))

test('what changes under a parked fetch wakes it: leadership, deletion, a failed log', () =>
  withNode(async (node, machine, sim) => {
    const parked = async (topic: string) => {
      const answer = node.fetch(topic, { maxWaitMs: 600_000 })
      await sim.runFor(10)
      return answer.then(({ errorCode }) => errorCode)
    }
    await node.createTopic('c', { idByte: 3, more: { replicas: [1, 2], isr: [1, 2] } })
    const [a, b, c] = [parked('a'), parked('b'), parked('c')]
    await sim.runFor(20)
    await node.change('c', { leader: 2 })
    assert.equal(await c, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await node.deleteTopic('b')
    assert.equal(await b, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    machine.failDisk({ operation: 'sync', pathEnd: '.log', code: 'EIO', times: 1 })
    await node.produce('a', batchOf(['x']))
    assert.equal(await a, ErrorCode.KAFKA_STORAGE_ERROR)
    assert.ok(sim.nowMs < 60_000)
  }))

test('a connection that closes leaves nothing parked behind', () =>
  withNode(async (node, _machine, sim) => {
    const context = node.context(12)
    void node.replicas.fetch(fetchRequest([['a', {}]], { maxWaitMs: 600_000 }), context)
    await sim.runFor(10)
    assert.equal(node.replicas.metrics.fetchesParked, 1)
    context.abandoned?.()
    assert.equal(node.replicas.metrics.fetchesParked, 0)
    await node.produce('a', batchOf(['x']))
  }))

test('budgets: the first batch always comes, what follows only within the bounds', () =>
  withNode(async (node) => {
    const big = batchOf(['x'.repeat(2000)])
    for (const topic of ['a', 'b']) for (let n = 0; n < 3; n++) await node.produce(topic, batchOf(['x'.repeat(2000)]))
    const bytes = async (options: FetchOptions, target: FetchOptions = {}) => {
      const request = fetchRequest(
        [
          ['a', target],
          ['b', target],
        ],
        options,
      )
      const { responses } = await node.replicas.fetch(request, node.context(12))
      return responses.map(({ partitions }) => Buffer.concat(partitions[0]?.records ?? []).length / big.length)
    }
    assert.deepEqual(await bytes({}), [3, 3])
    assert.deepEqual(await bytes({ maxBytes: 1 }), [1, 0])
    assert.deepEqual(await bytes({ maxBytes: big.length * 4 }), [3, 1])
    assert.deepEqual(await bytes({}, { partitionMaxBytes: big.length * 2 }), [2, 2])
    assert.deepEqual(await bytes({}, { partitionMaxBytes: 1 }), [1, 0])
  }))

test('what has left memory is read from the file, in order and within the bounds', () =>
  withNode(async (node) => {
    for (let n = 0; n < 40; n++) await node.produce('a', batchOf([`${n}`.padStart(3000, '.')]))
    const seen: string[] = []
    for (let offset = 0; offset < 40; ) {
      const { records } = await node.fetch('a', { offset, partitionMaxBytes: 10_000 })
      const values = valuesOf(records).map((value) => value.replace(/^\.+/, ''))
      assert.ok(values.length > 0 && values.length <= 3)
      seen.push(...values)
      offset += values.length
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 40 }, (_, n) => `${n}`),
    )
  }, 10_000))

/** One client with a session. */
class SessionClient {
  readonly node: ReplicaNode
  sessionId = 0
  sessionEpoch = 0
  constructor(node: ReplicaNode) {
    this.node = node
  }

  async fetch(topics: readonly (readonly [string, FetchOptions])[], more: Partial<FetchRequest> = {}) {
    const { sessionId, sessionEpoch } = this
    const request = { ...fetchRequest(topics), sessionId, sessionEpoch, ...more }
    const answer = await this.node.replicas.fetch(request, this.node.context(12))
    this.sessionId = answer.sessionId ?? 0
    this.sessionEpoch += 1
    const told = answer.responses.map(
      ({ topic, partitions }) => `${topic}:${valuesOf(partitions[0]?.records).join('')}`,
    )
    return { errorCode: answer.errorCode, told }
  }
}

test('a session: only what changes is sent and told', () =>
  withNode(async (node) => {
    await node.produce('a', batchOf(['1']))
    const client = new SessionClient(node)
    assert.deepEqual(
      (
        await client.fetch([
          ['a', {}],
          ['b', {}],
        ])
      ).told,
      ['a:1', 'b:'],
    )
    assert.ok(client.sessionId > 0)
    assert.deepEqual((await client.fetch([['a', { offset: 1 }]])).told, [])
    await node.produce('b', batchOf(['2']))
    assert.deepEqual((await client.fetch([])).told, ['b:2'])
    // Not consumed: it comes again. What had data goes behind the others.
    await node.produce('a', batchOf(['3']))
    assert.deepEqual((await client.fetch([])).told, ['a:3', 'b:2'])
    assert.deepEqual(
      (
        await client.fetch([
          ['a', { offset: 2 }],
          ['b', { offset: 1 }],
        ])
      ).told,
      [],
    )
    const forgotten = { forgottenTopicsData: [{ topic: 'a', topicId: topicIdOf(0), partitions: [0] }] }
    await node.produce('a', batchOf(['4']))
    assert.deepEqual((await client.fetch([], forgotten)).told, [])
    node.replicas.refreshGauges()
    assert.equal(node.replicas.metrics.fetchSessions, 1)
  }))

test('an error is told once it is there, and all is told again when it is over', () =>
  withNode(async (node) => {
    await node.createTopic('c', { idByte: 3, more: { replicas: [1, 2], isr: [1] } })
    const client = new SessionClient(node)
    await client.fetch([
      ['a', {}],
      ['c', {}],
    ])
    await node.change('c', { leader: 2 })
    assert.deepEqual((await client.fetch([])).told, ['c:'])
    assert.deepEqual((await client.fetch([])).told, ['c:'])
    await node.change('c', { leader: 1 })
    assert.deepEqual((await client.fetch([])).told, ['c:'])
    assert.deepEqual((await client.fetch([])).told, [])
  }))

test('sessions that are wrong, unknown, or closed', () =>
  withNode(async (node) => {
    const client = new SessionClient(node)
    await client.fetch([['a', {}]])
    const id = client.sessionId
    const wrong = await client.fetch([], { sessionEpoch: 7 })
    assert.equal(wrong.errorCode, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
    const unknown = await client.fetch([], { sessionId: id + 1, sessionEpoch: 1 })
    assert.equal(unknown.errorCode, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    const mixed = await node.replicas.fetch({ ...fetchRequest([]), sessionId: id, sessionEpoch: 1 }, node.context(13))
    assert.equal(mixed.errorCode, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
    // Still there, until the client closes it.
    assert.equal((await client.fetch([], { sessionId: id, sessionEpoch: 1 })).errorCode, 0)
    await client.fetch([['a', {}]], { sessionId: id, sessionEpoch: -1 })
    const closed = await client.fetch([], { sessionId: id, sessionEpoch: 2 })
    assert.equal(closed.errorCode, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    node.replicas.refreshGauges()
    assert.equal(node.replicas.metrics.fetchSessions, 0)
  }))

test('a broker that is no replica of the partition, as far as this node has heard, is told to come again', () =>
  withNode(async (node) => {
    const answer = await node.replicas.fetch({ ...fetchRequest([['a', {}]]), replicaId: 2 }, node.context(12))
    assert.equal(answer.responses[0]?.partitions[0]?.errorCode, ErrorCode.UNKNOWN_LEADER_EPOCH)
  }))

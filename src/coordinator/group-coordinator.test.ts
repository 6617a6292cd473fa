import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageReader } from '../protocol/message-reader.ts'
import type { Caller } from '../group/requests.ts'
import { DEFAULT_GROUP_CONFIG } from '../group/types.ts'
import { NO_TOPIC_ID, type TopicId } from '../model/ids.ts'
import { DeleteGroups } from '../protocol/apis/delete-groups.ts'
import { DescribeGroups } from '../protocol/apis/describe-groups.ts'
import { Heartbeat } from '../protocol/apis/heartbeat.ts'
import { JoinGroup } from '../protocol/apis/join-group.ts'
import { LeaveGroup } from '../protocol/apis/leave-group.ts'
import { ListGroups } from '../protocol/apis/list-groups.ts'
import { OffsetCommit } from '../protocol/apis/offset-commit.ts'
import { OffsetDelete } from '../protocol/apis/offset-delete.ts'
import { OffsetFetch } from '../protocol/apis/offset-fetch.ts'
import { SyncGroup } from '../protocol/apis/sync-group.ts'
import { decodeRequest, decodeRequestHeader, decodeResponse, encodeRequest, encodeResponse } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { AnyApi, RequestInput, RequestOf, ResponseInput, ResponseOf } from '../protocol/schema.ts'
import { ManualEnv } from '../testing/manual-env.ts'
import { MemoryLog } from '../testing/memory-log.ts'
import { GroupCoordinator } from './group-coordinator.ts'

const ORDERS = 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId

/** A coordinator behind the codec: every request and every answer goes through the bytes of its version. */
class Scene {
  readonly world = new ManualEnv()
  readonly coordinator: GroupCoordinator
  readonly logs: MemoryLog[]

  constructor(partitions = 2) {
    this.coordinator = new GroupCoordinator({
      env: this.world.env,
      config: { ...DEFAULT_GROUP_CONFIG, initialRebalanceDelayMs: 0 },
      topics: {
        idOf: (name) => (name === 'orders' ? ORDERS : null),
        partitionsOf: (name) => (name === 'orders' ? 4 : 0),
        nameOf: (id) => (id === ORDERS ? 'orders' : null),
      },
      partitionCount: () => partitions,
      groupOperations: 3400,
    })
    this.logs = Array.from({ length: partitions }, (_, partition) => new MemoryLog(partition))
  }

  async start(): Promise<this> {
    for (const [partition, log] of this.logs.entries()) this.coordinator.onLead(partition, log)
    await this.world.settle()
    return this
  }

  async ask<A extends AnyApi>(
    api: A,
    version: number,
    body: RequestInput<A>,
    handle: (request: RequestOf<A>, caller: Caller) => Promise<ResponseInput<A>>,
  ): Promise<ResponseOf<A>> {
    const frame = Buffer.concat(encodeRequest(api, version, { correlationId: 1, clientId: 'test' }, body)).subarray(4)
    const request = decodeRequest(api, version, decodeRequestHeader(frame).reader as MessageReader)
    const pending = handle(request, { apiVersion: version, clientId: 'test', clientHost: '/127.0.0.1' })
    await this.world.settle()
    const answer = Buffer.concat(encodeResponse(api, version, 1, await pending)).subarray(4)
    return decodeResponse(api, version, answer)
  }
}

function versionsOf({ versions: [first, last] }: AnyApi): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

for (const version of versionsOf(JoinGroup)) {
  test(`a member lives in a group with JoinGroup v${version}`, async () => {
    const scene = await new Scene().start()
    const { coordinator } = scene
    const join = (memberId: string) =>
      scene.ask(
        JoinGroup,
        version,
        {
          groupId: 'g',
          sessionTimeoutMs: 10_000,
          memberId,
          protocolType: 'consumer',
          protocols: [{ name: 'range', metadata: Buffer.from('m') }],
        },
        (request, caller) => coordinator.joinGroup(request, caller),
      )
    let joined = await join('')
    if (version >= 4) {
      assert.equal(joined.errorCode, ErrorCode.MEMBER_ID_REQUIRED)
      joined = await join(joined.memberId)
    }
    assert.equal(joined.errorCode, ErrorCode.NONE)
    assert.equal(joined.generationId, 1)
    const { memberId } = joined
    const syncVersion = Math.min(version, 5)
    const assignments = [{ memberId, assignment: Buffer.from('work') }]
    const named = syncVersion >= 5 ? { protocolType: 'consumer', protocolName: 'range' } : {}
    const synced = await scene.ask(
      SyncGroup,
      syncVersion,
      { groupId: 'g', generationId: 1, memberId, assignments, ...named },
      (request, caller) => coordinator.syncGroup(request, caller),
    )
    assert.equal(synced.assignment.toString(), 'work')
    const beaten = await scene.ask(
      Heartbeat,
      Math.min(version, 4),
      { groupId: 'g', generationId: 1, memberId },
      (request, caller) => coordinator.heartbeat(request, caller),
    )
    assert.equal(beaten.errorCode, ErrorCode.NONE)
    const leaving = syncVersion < 3 ? { memberId } : { members: [{ memberId }] }
    const left = () =>
      scene.ask(LeaveGroup, syncVersion, { groupId: 'g', ...leaving }, (request, caller) =>
        coordinator.leaveGroup(request, caller),
      )
    assert.equal((await left()).errorCode, ErrorCode.NONE)
    const again = await left()
    assert.equal(syncVersion < 3 ? again.errorCode : again.members[0]?.errorCode, ErrorCode.UNKNOWN_MEMBER_ID)
  })
}

for (const version of versionsOf(OffsetCommit)) {
  test(`offsets are committed and fetched with v${version}`, async () => {
    const scene = await new Scene().start()
    const { coordinator } = scene
    const partitions = [{ partitionIndex: 0, committedOffset: 42, committedMetadata: null }]
    const committed = await scene.ask(
      OffsetCommit,
      version,
      {
        groupId: 'g',
        memberId: '',
        topics: [
          { name: 'orders', topicId: ORDERS, partitions },
          { name: 'nowhere', topicId: 'AAAAAAAAAAAAAAAAAAAAAg', partitions },
        ],
      },
      (request, caller) => coordinator.commitOffsets(request, caller),
    )
    assert.deepEqual(
      committed.topics.map((topic) => topic.partitions[0]?.errorCode),
      [ErrorCode.NONE, version >= 10 ? ErrorCode.UNKNOWN_TOPIC_ID : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    )
    for (const fetchVersion of versionsOf(OffsetFetch)) {
      const topics = [{ name: 'orders', topicId: ORDERS, partitionIndexes: [0, 1] }]
      const fetched = await scene.ask(
        OffsetFetch,
        fetchVersion,
        fetchVersion < 8
          ? { groupId: 'g', topics: topics.map(({ name, partitionIndexes }) => ({ name, partitionIndexes })) }
          : { groups: [{ groupId: 'g', topics }] },
        (request, caller) => coordinator.fetchOffsets(request, caller),
      )
      const found = fetchVersion < 8 ? fetched.topics : fetched.groups[0]?.topics
      assert.deepEqual(
        found?.[0]?.partitions.map(({ committedOffset }) => committedOffset),
        [42, -1],
        `OffsetFetch v${fetchVersion}`,
      )
    }
  })
}

test('all offsets of several groups are fetched at once, by name and by id', async () => {
  const scene = await new Scene().start()
  const { coordinator } = scene
  for (const groupId of ['one', 'two']) {
    const partitions = [{ partitionIndex: 3, committedOffset: 7, committedMetadata: 'm' }]
    const body = { groupId, memberId: '', topics: [{ name: 'orders', partitions }] }
    await scene.ask(OffsetCommit, 8, body, (request, caller) => coordinator.commitOffsets(request, caller))
  }
  for (const version of [8, 9, 10]) {
    const groups = ['one', 'two', 'three'].map((groupId) => ({ groupId, topics: null }))
    const answer = await scene.ask(OffsetFetch, version, { groups }, (request, caller) =>
      coordinator.fetchOffsets(request, caller),
    )
    const topic = version < 10 ? { name: 'orders', topicId: NO_TOPIC_ID } : { name: '', topicId: ORDERS }
    const partition = { partitionIndex: 3, committedOffset: 7, committedLeaderEpoch: -1, metadata: 'm', errorCode: 0 }
    const topics = [{ ...topic, partitions: [partition] }]
    assert.deepEqual(answer.groups, [
      { groupId: 'one', topics, errorCode: 0 },
      { groupId: 'two', topics, errorCode: 0 },
      { groupId: 'three', topics: [], errorCode: 0 },
    ])
  }
})

test('groups of all shards are listed, described and deleted in every version', async () => {
  const scene = await new Scene(4).start()
  const { coordinator } = scene
  const ids = ['a', 'b', 'c', 'd', 'e']
  for (const version of versionsOf(DescribeGroups)) {
    for (const groupId of ids) {
      const partitions = [{ partitionIndex: 0, committedOffset: 1, committedMetadata: '' }]
      const body = { groupId, memberId: '', topics: [{ name: 'orders', partitions }] }
      await scene.ask(OffsetCommit, 8, body, (request, caller) => coordinator.commitOffsets(request, caller))
    }
    const listed = await scene.ask(ListGroups, Math.min(version, 5), {}, (request, caller) =>
      coordinator.listGroups(request, caller),
    )
    assert.deepEqual(listed.groups.map(({ groupId }) => groupId).sort(), ids)
    const described = await scene.ask(
      DescribeGroups,
      version,
      { groups: [...ids, 'missing'], ...(version >= 3 ? { includeAuthorizedOperations: true } : {}) },
      (request, caller) => coordinator.describeGroups(request, caller),
    )
    const states = new Map(described.groups.map((group) => [group.groupId, group.groupState]))
    assert.equal(states.get('a'), 'Empty')
    assert.equal(states.get('missing'), 'Dead')
    if (version >= 3) assert.equal(described.groups[0]?.authorizedOperations, 3400)
    const deleted = await scene.ask(
      DeleteGroups,
      Math.min(version, 3),
      { groupsNames: [...ids, 'missing'] },
      (request, caller) => coordinator.deleteGroups(request, caller),
    )
    const codes = new Map(deleted.results.map(({ groupId, errorCode }) => [groupId, errorCode]))
    assert.equal(codes.get('e'), ErrorCode.NONE)
    assert.equal(codes.get('missing'), ErrorCode.GROUP_ID_NOT_FOUND)
  }
})

test('a node that does not lead the partition says so in every version of every API', async () => {
  const { coordinator, ask } = bind(new Scene())
  for (const version of versionsOf(JoinGroup)) {
    const body = { groupId: 'g', sessionTimeoutMs: 10_000, memberId: '', protocolType: 'consumer', protocols: [] }
    const answer = await ask(JoinGroup, version, body, (request, caller) => coordinator.joinGroup(request, caller))
    assert.equal(answer.errorCode, ErrorCode.NOT_COORDINATOR)
  }
  for (const version of versionsOf(LeaveGroup)) {
    const body = { groupId: 'g', ...(version < 3 ? { memberId: 'm' } : { members: [{ memberId: 'm' }] }) }
    const answer = await ask(LeaveGroup, version, body, (request, caller) => coordinator.leaveGroup(request, caller))
    assert.equal(answer.errorCode, ErrorCode.NOT_COORDINATOR)
  }
  for (const version of versionsOf(OffsetFetch)) {
    const topics = [{ name: 'orders', partitionIndexes: [0] }]
    const body = version < 8 ? { groupId: 'g', topics } : { groups: [{ groupId: 'g', topics: null }] }
    const answer = await ask(OffsetFetch, version, body, (request, caller) => coordinator.fetchOffsets(request, caller))
    const code =
      version < 2
        ? answer.topics[0]?.partitions[0]?.errorCode
        : version < 8
          ? answer.errorCode
          : answer.groups[0]?.errorCode
    assert.equal(code, ErrorCode.NOT_COORDINATOR, `OffsetFetch v${version}`)
  }
  const topics = [{ name: 'orders', partitions: [{ partitionIndex: 0, committedOffset: 1, committedMetadata: null }] }]
  const committed = await ask(OffsetCommit, 8, { groupId: 'g', memberId: '', topics }, (request, caller) =>
    coordinator.commitOffsets(request, caller),
  )
  assert.equal(committed.topics[0]?.partitions[0]?.errorCode, ErrorCode.NOT_COORDINATOR)
  const deleted = await ask(OffsetDelete, 0, { groupId: 'g', topics: [] }, (request, caller) =>
    coordinator.deleteOffsets(request, caller),
  )
  assert.equal(deleted.errorCode, ErrorCode.NOT_COORDINATOR)
  // Nothing is coordinated here, so there is nothing to list.
  const listed = await ask(ListGroups, 4, {}, (request, caller) => coordinator.listGroups(request, caller))
  assert.deepEqual(listed.groups, [])
})

test('a member that sends a heartbeat while its coordinator loads is not sent away', async () => {
  const scene = new Scene(1)
  const { coordinator, logs } = scene
  coordinator.onLead(0, logs[0] as MemoryLog)
  const caller = { apiVersion: 4, clientId: 'test', clientHost: '/127.0.0.1' }
  const request = { groupId: 'g', generationId: 1, memberId: 'm', groupInstanceId: null }
  const answer = await coordinator.heartbeat(request, caller)
  assert.equal(answer.errorCode, ErrorCode.NONE)
})

test('committed offsets outlive their coordinator', async () => {
  const first = await new Scene(1).start()
  const body = {
    groupId: 'g',
    memberId: '',
    topics: [{ name: 'orders', partitions: [{ partitionIndex: 0, committedOffset: 42, committedMetadata: 'm' }] }],
  }
  await first.ask(OffsetCommit, 8, body, (request, caller) => first.coordinator.commitOffsets(request, caller))
  const second = new Scene(1)
  second.logs[0] = new MemoryLog(0, { leaderEpoch: 2, batches: first.logs[0]?.batches ?? [] })
  await second.start()
  const fetched = await second.ask(OffsetFetch, 8, { groups: [{ groupId: 'g', topics: null }] }, (request, caller) =>
    second.coordinator.fetchOffsets(request, caller),
  )
  assert.equal(fetched.groups[0]?.topics[0]?.partitions[0]?.committedOffset, 42)
})

function bind(scene: Scene): { coordinator: GroupCoordinator; ask: Scene['ask'] } {
  return { coordinator: scene.coordinator, ask: scene.ask.bind(scene) }
}

test('members that spoke while the node stood still keep their sessions', async () => {
  const scene = await new Scene(1).start()
  const { coordinator, world } = scene
  const protocols = [{ name: 'range', metadata: Buffer.from('m') }]
  const joined = await scene.ask(
    JoinGroup,
    2,
    { groupId: 'g', sessionTimeoutMs: 10_000, memberId: '', protocolType: 'consumer', protocols },
    (request, caller) => coordinator.joinGroup(request, caller),
  )
  const { memberId } = joined
  const caller = { apiVersion: 2, clientId: 'test', clientHost: '/127.0.0.1' }
  const body = { groupId: 'g', generationId: 1, memberId, groupInstanceId: null }
  const sync = { ...body, protocolType: null, protocolName: null, assignments: [] }
  await Promise.all([coordinator.syncGroup(sync, caller), world.settle()])
  for (let stop = 0; stop < 3; stop++) {
    await world.advance(3000)
    world.standStill(60_000)
    // What is late rings first; only then the requests are read that wait in the kernel.
    await world.settle()
    const [beaten] = await Promise.all([coordinator.heartbeat(body, caller), world.settle()])
    assert.equal(beaten.errorCode, ErrorCode.NONE)
  }
  // One that says nothing afterwards is gone, as ever.
  world.standStill(60_000)
  await world.advance(2000)
  const [late] = await Promise.all([coordinator.heartbeat(body, caller), world.settle()])
  assert.equal(late.errorCode, ErrorCode.UNKNOWN_MEMBER_ID)
})

test('a clock that jumps forward takes nobody his offsets, unless the jump lasts', async () => {
  const scene = await new Scene(1).start()
  const { coordinator, world } = scene
  const partitions = [{ partitionIndex: 0, committedOffset: 7, committedMetadata: '' }]
  const body = { groupId: 'g', memberId: '', topics: [{ name: 'orders', partitions }] }
  await scene.ask(OffsetCommit, 8, body, (request, caller) => coordinator.commitOffsets(request, caller))
  const committed = async () => {
    const groups = [{ groupId: 'g', topics: null }]
    const answer = await scene.ask(OffsetFetch, 8, { groups }, (request, caller) =>
      coordinator.fetchOffsets(request, caller),
    )
    return answer.groups[0]?.topics.length
  }
  await world.advance(20 * 60_000)
  world.wallJumpMs = 8 * 24 * 3_600_000
  await world.advance(50 * 60_000)
  assert.equal(await committed(), 1)
  // A shard that has just come to this node believes it no sooner.
  coordinator.onLead(0, scene.logs[0] as MemoryLog)
  await world.advance(9 * 60_000)
  assert.equal(await committed(), 1)
  await world.advance(30 * 60_000)
  assert.equal(await committed(), 0)
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Admin } from '../../src/client/admin.ts'
import { Client } from '../../src/client/client.ts'
import { BrokerConnection } from '../../src/rpc/connection.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { DeleteGroups } from '../../src/protocol/apis/delete-groups.ts'
import { DescribeGroups } from '../../src/protocol/apis/describe-groups.ts'
import { Heartbeat } from '../../src/protocol/apis/heartbeat.ts'
import { JoinGroup } from '../../src/protocol/apis/join-group.ts'
import { LeaveGroup } from '../../src/protocol/apis/leave-group.ts'
import { ListGroups } from '../../src/protocol/apis/list-groups.ts'
import { OffsetCommit } from '../../src/protocol/apis/offset-commit.ts'
import { OffsetDelete } from '../../src/protocol/apis/offset-delete.ts'
import { OffsetFetch } from '../../src/protocol/apis/offset-fetch.ts'
import { SyncGroup } from '../../src/protocol/apis/sync-group.ts'
import type { AnyApi, RequestInput } from '../../src/protocol/schema.ts'
import { errorName } from '../../src/protocol/errors.ts'
import type { ServerKind } from '../support/server.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'

const env = nodeEnv({ log: { level: 'error' } })
const SUBSCRIPTION = Buffer.from(`0000000000010006${Buffer.from('orders').toString('hex')}ffffffff`, 'hex')

/** One server and what it has said, with everything that is chosen at random given a name. */
class Side {
  readonly #address: { host: string; port: number }
  readonly #names = new Map<string, string>()
  readonly #ids = new Map<string, string>()
  readonly #open: BrokerConnection[] = []

  constructor(address: string) {
    const [host = '', port] = address.split(':')
    this.#address = { host, port: Number(port) }
  }

  /** Each on a connection of its own, for some are parked. */
  async ask<A extends AnyApi>(api: A, version: number, body: RequestInput<A>): Promise<unknown> {
    const connection = await BrokerConnection.open(env.net, env.timers, this.#address, {
      clientId: 'parity',
      connectTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
    })
    this.#open.push(connection)
    const named = this.#withIds(body) as RequestInput<A>
    const response = await connection.request(api, named, { versions: [version, version] })
    this.#learn(response)
    return this.#normal(response)
  }

  close(): void {
    for (const connection of this.#open) connection.close()
  }

  /** `@m1` stands for the first member id that was given out. */
  #withIds(value: unknown): unknown {
    if (typeof value === 'string') return value.startsWith('@') ? (this.#ids.get(value.slice(1)) ?? value) : value
    if (Array.isArray(value)) return value.map((item) => this.#withIds(item))
    if (Buffer.isBuffer(value) || typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#withIds(item)]))
  }

  #learn(response: unknown): void {
    const { memberId } = response as { memberId?: string }
    if (memberId === undefined || !/-[0-9a-f]{8}-/.test(memberId) || this.#names.has(memberId)) return
    const name = `m${this.#names.size + 1}`
    this.#names.set(memberId, name)
    this.#ids.set(name, memberId)
  }

  #normal(value: unknown, key = ''): unknown {
    if (typeof value === 'string') return this.#names.get(value) ?? value
    if (key === 'errorCode') return errorName(value as number)
    if (Buffer.isBuffer(value)) return value.toString('hex')
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#normal(item))
      return key === 'members' || key === 'groups' || key === 'topics' ? items.sort(byText) : items
    }
    if (typeof value !== 'object' || value === null) return value
    // Texts are ours, and we give one more often.
    const fields = Object.entries(value).filter(([name]) => name !== 'errorMessage')
    return Object.fromEntries(fields.map(([name, item]) => [name, this.#normal(item, name)]))
  }
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1
}

class Both {
  readonly #sides: readonly Side[]

  private constructor(sides: readonly Side[]) {
    this.#sides = sides
  }

  static async start(context: TestContext): Promise<Both> {
    const sides: Side[] = []
    for (const kind of ['kafka', 'millrace'] as ServerKind[]) {
      const config = { 'group.min.session.timeout.ms': '1000', 'group.max.size': '3' }
      const server = await testServer(context, { kind, config })
      const client = new Client(env, { bootstrap: server.address })
      const admin = new Admin(client)
      await admin.createTopics(['orders', 'payments'].map((name) => ({ name, partitions: 2, replicationFactor: 1 })))
      for (const name of ['orders', 'payments']) await client.retry(name, () => client.topic(name))
      // Makes the offsets topic and waits for its coordinators.
      for (const groupId of ['g', 'h', 'simple', 'none', 'statics']) await admin.groups.offsets(groupId)
      await client.close()
      sides.push(new Side(server.address))
    }
    context.after(() => {
      for (const side of sides) side.close()
    })
    return new Both(sides)
  }

  /** Both say the same. */
  async same<A extends AnyApi>(api: A, version: number, body: RequestInput<A>): Promise<void> {
    const [theirs, ours] = await Promise.all(this.#sides.map((side) => side.ask(api, version, body)))
    assert.deepEqual(ours, theirs, `${api.name} v${version} ${JSON.stringify(body)}`)
  }
}

const join = (more: Partial<RequestInput<typeof JoinGroup>> = {}): RequestInput<typeof JoinGroup> => ({
  groupId: 'g',
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 5000,
  memberId: '',
  protocolType: 'consumer',
  protocols: [{ name: 'range', metadata: SUBSCRIPTION }],
  ...more,
})
const sync = (more: Partial<RequestInput<typeof SyncGroup>>): RequestInput<typeof SyncGroup> => ({
  groupId: 'g',
  generationId: 1,
  memberId: 'x',
  protocolType: 'consumer',
  protocolName: 'range',
  assignments: [],
  ...more,
})
const commit = (more: Partial<RequestInput<typeof OffsetCommit>> = {}): RequestInput<typeof OffsetCommit> => ({
  groupId: 'g',
  memberId: '',
  topics: [{ name: 'orders', partitions: [{ partitionIndex: 0, committedOffset: 5, committedMetadata: 'm' }] }],
  ...more,
})
const fetch = (groupId: string, topics: readonly string[] | null): RequestInput<typeof OffsetFetch> => ({
  groups: [{ groupId, topics: topics && topics.map((name) => ({ name, partitionIndexes: [0, 1] })) }],
})

test('groups answer as those of Apache Kafka do', {
  skip: await skipWithout('kafka'),
  timeout: 240_000,
}, async (context) => {
  const both = await Both.start(context)
  const same = both.same.bind(both)

  await context.test('a group that is not there', async () => {
    await same(Heartbeat, 4, { groupId: 'none', generationId: 1, memberId: 'x' })
    await same(SyncGroup, 5, sync({ groupId: 'none', generationId: 1, memberId: 'x', assignments: [] }))
    await same(SyncGroup, 5, { groupId: 'none', generationId: 1, memberId: 'x', assignments: [] })
    await same(LeaveGroup, 2, { groupId: 'none', memberId: 'x' })
    await same(LeaveGroup, 5, { groupId: 'none', members: [{ memberId: 'x' }, { memberId: '', groupInstanceId: 'i' }] })
    await same(JoinGroup, 9, join({ groupId: 'none', memberId: 'x' }))
    for (const version of [2, 8, 9]) {
      await same(OffsetCommit, version, commit({ groupId: 'none', memberId: 'x', generationIdOrMemberEpoch: 3 }))
    }
    await same(OffsetFetch, 8, fetch('none', ['orders']))
    await same(OffsetFetch, 8, fetch('none', null))
    await same(OffsetDelete, 0, { groupId: 'none', topics: [{ name: 'orders', partitions: [{ partitionIndex: 0 }] }] })
    for (const version of [0, 5, 6]) await same(DescribeGroups, version, { groups: ['none'] })
    for (const version of [1, 3]) await same(DeleteGroups, version, { groupsNames: ['none'] })
    await same(JoinGroup, 9, join({ groupId: '' }))
    await same(Heartbeat, 4, { groupId: '', generationId: 1, memberId: 'x' })
    await same(SyncGroup, 5, sync({ groupId: '', generationId: 1, memberId: 'x', assignments: [] }))
    await same(LeaveGroup, 5, { groupId: '', members: [{ memberId: 'x' }] })
    await same(OffsetDelete, 0, { groupId: '', topics: [] })
    await same(DescribeGroups, 5, { groups: [''] })
    await same(DeleteGroups, 2, { groupsNames: [''] })
  })

  await context.test('joins that are refused', async () => {
    await same(JoinGroup, 9, join({ sessionTimeoutMs: 10 }))
    await same(JoinGroup, 9, join({ sessionTimeoutMs: 100_000_000 }))
    await same(JoinGroup, 9, join({ protocols: [] }))
    await same(JoinGroup, 9, join({ protocolType: '' }))
  })

  await context.test('a first generation', async () => {
    await same(JoinGroup, 9, join())
    await same(DescribeGroups, 5, { groups: ['g'] })
    await same(JoinGroup, 9, join({ memberId: '@m1' }))
    await same(Heartbeat, 4, { groupId: 'g', generationId: 1, memberId: '@m1' })
    await same(Heartbeat, 4, { groupId: 'g', generationId: 0, memberId: '@m1' })
    await same(Heartbeat, 4, { groupId: 'g', generationId: 1, memberId: '@m1', groupInstanceId: 'nobody' })
    await same(OffsetCommit, 9, commit({ memberId: '@m1', generationIdOrMemberEpoch: 1 }))
    await same(SyncGroup, 5, sync({ groupId: 'g', generationId: 0, memberId: '@m1', assignments: [] }))
    await same(
      SyncGroup,
      5,
      sync({
        groupId: 'g',
        generationId: 1,
        memberId: '@m1',
        protocolName: 'sticky',
        assignments: [],
      }),
    )
    await same(
      SyncGroup,
      5,
      sync({
        groupId: 'g',
        generationId: 1,
        memberId: '@m1',
        protocolType: 'connect',
        assignments: [],
      }),
    )
    const assignments = [{ memberId: '@m1', assignment: Buffer.from('0000', 'hex') }]
    await same(
      SyncGroup,
      5,
      sync({
        groupId: 'g',
        generationId: 1,
        memberId: '@m1',
        protocolType: 'consumer',
        protocolName: 'range',
        assignments,
      }),
    )
    await same(SyncGroup, 3, { groupId: 'g', generationId: 1, memberId: '@m1', assignments: [] })
    for (const version of [0, 3, 4, 5, 6])
      await same(DescribeGroups, version, {
        groups: ['g'],
        ...(version >= 3 ? { includeAuthorizedOperations: true } : {}),
      })
  })

  await context.test('commits of a stable group', async () => {
    await same(OffsetCommit, 9, commit({ memberId: '@m1', generationIdOrMemberEpoch: 1 }))
    await same(OffsetCommit, 9, commit({ memberId: '@m1', generationIdOrMemberEpoch: 0 }))
    await same(OffsetCommit, 9, commit({ memberId: 'stranger', generationIdOrMemberEpoch: 1 }))
    await same(OffsetCommit, 9, commit({ memberId: '@m1', generationIdOrMemberEpoch: 1, groupInstanceId: 'nobody' }))
    await same(OffsetCommit, 9, commit())
    await same(OffsetCommit, 9, commit({ memberId: '@m1' }))
    const long = [{ partitionIndex: 1, committedOffset: 5, committedMetadata: 'x'.repeat(5000) }]
    await same(
      OffsetCommit,
      9,
      commit({ memberId: '@m1', generationIdOrMemberEpoch: 1, topics: [{ name: 'orders', partitions: long }] }),
    )
    const unknown = [
      { name: 'nowhere', partitions: [{ partitionIndex: 0, committedOffset: 5, committedMetadata: null }] },
    ]
    await same(OffsetCommit, 9, commit({ memberId: '@m1', generationIdOrMemberEpoch: 1, topics: unknown }))
    const payments = [
      {
        name: 'payments',
        partitions: [{ partitionIndex: 0, committedOffset: 9, committedLeaderEpoch: 0, committedMetadata: null }],
      },
    ]
    await same(OffsetCommit, 9, commit({ memberId: '@m1', generationIdOrMemberEpoch: 1, topics: payments }))
    for (const version of [8, 9]) {
      await same(OffsetFetch, version, fetch('g', ['orders', 'payments', 'nowhere']))
      await same(OffsetFetch, version, fetch('g', null))
    }
    for (const version of [1, 2, 5, 7])
      await same(OffsetFetch, version, { groupId: 'g', topics: [{ name: 'orders', partitionIndexes: [0, 1] }] })
    await same(OffsetFetch, 7, { groupId: 'g', topics: null })
    await same(OffsetDelete, 0, {
      groupId: 'g',
      topics: ['orders', 'payments'].map((name) => ({
        name,
        partitions: [{ partitionIndex: 0 }, { partitionIndex: 1 }],
      })),
    })
    await same(OffsetFetch, 9, fetch('g', null))
    await same(DeleteGroups, 2, { groupsNames: ['g'] })
  })

  await context.test('a member comes, others rejoin', async () => {
    await same(JoinGroup, 9, join({ protocolType: 'connect' }))
    await same(JoinGroup, 9, join({ protocols: [{ name: 'sticky', metadata: SUBSCRIPTION }] }))
    await same(JoinGroup, 9, join())
    const second = same(JoinGroup, 9, join({ memberId: '@m2' }))
    // Until the first has heard that it must rejoin.
    await new Promise((resolve) => setTimeout(resolve, 300))
    await same(Heartbeat, 4, { groupId: 'g', generationId: 1, memberId: '@m1' })
    await same(DescribeGroups, 5, { groups: ['g'] })
    await same(SyncGroup, 5, sync({ groupId: 'g', generationId: 1, memberId: '@m1', assignments: [] }))
    await same(OffsetCommit, 9, commit({ memberId: '@m1', generationIdOrMemberEpoch: 1 }))
    await same(OffsetDelete, 0, { groupId: 'g', topics: [{ name: 'payments', partitions: [{ partitionIndex: 0 }] }] })
    await Promise.all([second, same(JoinGroup, 9, join({ memberId: '@m1' }))])
    await same(Heartbeat, 4, { groupId: 'g', generationId: 1, memberId: '@m2' })
    const waiting = same(SyncGroup, 5, sync({ groupId: 'g', generationId: 2, memberId: '@m2', assignments: [] }))
    await same(DescribeGroups, 5, { groups: ['g'] })
    await same(
      SyncGroup,
      5,
      sync({
        groupId: 'g',
        generationId: 2,
        memberId: '@m1',
        assignments: [{ memberId: '@m1', assignment: Buffer.from('01', 'hex') }],
      }),
    )
    await waiting
    await same(JoinGroup, 9, join({ memberId: '@m2' }))
    await same(DescribeGroups, 5, { groups: ['g'] })
    for (const version of [0, 4, 5]) await same(ListGroups, version, version >= 4 ? { statesFilter: ['stable'] } : {})
    await same(ListGroups, 5, { typesFilter: ['classic'] })
    await same(ListGroups, 5, { typesFilter: ['Consumer'] })
    await same(ListGroups, 5, { statesFilter: ['Empty', 'Nonsense'] })
  })

  await context.test('a group becomes too large, and empty', async () => {
    // Parked until the rebalance timeout, for the two members do not rejoin.
    const third = same(JoinGroup, 3, join())
    await new Promise((resolve) => setTimeout(resolve, 300))
    await same(LeaveGroup, 5, {
      groupId: 'g',
      members: [{ memberId: '@m1' }, { memberId: '@m2' }, { memberId: 'stranger' }],
    })
    await third
    await same(LeaveGroup, 1, { groupId: 'g', memberId: 'stranger' })
    await same(LeaveGroup, 1, { groupId: 'g', memberId: '@m3' })
    await same(DescribeGroups, 5, { groups: ['g'] })
    await same(Heartbeat, 4, { groupId: 'g', generationId: 3, memberId: '@m3' })
    await same(SyncGroup, 5, sync({ groupId: 'g', generationId: 4, memberId: '@m3', assignments: [] }))
    await same(JoinGroup, 9, join({ memberId: '@m3' }))
    await same(OffsetCommit, 9, commit())
    await same(OffsetCommit, 9, commit({ memberId: '@m3', generationIdOrMemberEpoch: 4 }))
    await same(OffsetDelete, 0, { groupId: 'g', topics: [{ name: 'orders', partitions: [{ partitionIndex: 0 }] }] })
    await same(ListGroups, 5, {})
    await same(DeleteGroups, 2, { groupsNames: ['g'] })
    await same(DescribeGroups, 6, { groups: ['g'] })
  })

  await context.test('static members', async () => {
    const one = { groupId: 'statics', groupInstanceId: 'one' }
    await same(JoinGroup, 9, join(one))
    const assignments = [{ memberId: '@m4', assignment: Buffer.from('02', 'hex') }]
    await same(SyncGroup, 5, sync({ ...one, generationId: 1, memberId: '@m4', assignments }))
    for (const version of [9, 8, 5]) {
      await same(JoinGroup, version, join(one))
      await same(DescribeGroups, 4, { groups: ['statics'] })
    }
    await same(Heartbeat, 4, { ...one, generationId: 1, memberId: '@m4' })
    await same(SyncGroup, 5, sync({ ...one, generationId: 1, memberId: '@m4', assignments: [] }))
    await same(OffsetCommit, 9, commit({ ...one, memberId: '@m4', generationIdOrMemberEpoch: 1 }))
    await same(JoinGroup, 9, join({ ...one, memberId: '@m4' }))
    await same(SyncGroup, 5, sync({ ...one, generationId: 1, memberId: '@m7', assignments: [] }))
    await same(LeaveGroup, 4, { groupId: 'statics', members: [{ memberId: '@m4', groupInstanceId: 'one' }] })
    await same(LeaveGroup, 4, {
      groupId: 'statics',
      members: [
        { memberId: '', groupInstanceId: 'one' },
        { memberId: '', groupInstanceId: 'two' },
      ],
    })
    await same(DescribeGroups, 5, { groups: ['statics'] })
  })

  await context.test('offsets without a group', async () => {
    for (const version of [2, 5, 8, 9]) await same(OffsetCommit, version, commit({ groupId: 'simple' }))
    await same(OffsetCommit, 9, commit({ groupId: 'simple', memberId: 'x', generationIdOrMemberEpoch: 2 }))
    await same(OffsetCommit, 9, commit({ groupId: '' }))
    await same(OffsetFetch, 8, fetch('', null))
    await same(DescribeGroups, 5, { groups: ['simple'] })
    await same(ListGroups, 5, { statesFilter: ['Empty'] })
    await same(DeleteGroups, 2, { groupsNames: ['simple'] })
    await same(OffsetFetch, 8, fetch('simple', null))
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../base/random.ts'
import { NO_TOPIC_ID, type TopicId } from '../model/ids.ts'
import type { Outcome, Ticket } from '../model/shard.ts'
import { decodeRecord, encodeRecord } from './record-codec.ts'
import type { GroupRecord } from './records.ts'
import type { GroupCall, GroupRequest, GroupResponse } from './requests.ts'
import { GroupShard } from './shard.ts'
import { DEFAULT_GROUP_CONFIG } from './types.ts'

const SEEDS = 300
const STEPS = 250
const config = {
  ...DEFAULT_GROUP_CONFIG,
  initialRebalanceDelayMs: 100,
  groupSizeMax: 4,
  offsetRetentionMs: 60_000,
  expiryIntervalMs: 20_000,
}

/** A shard, its log, and clients that do anything at all, mostly with ids and generations they have heard of. */
class Chaos {
  readonly #random: Random
  #shard: GroupShard
  readonly #log: { key: Buffer; value: Buffer | null }[] = []
  readonly #waiting = new Map<Ticket, string>()
  readonly #memberIds: string[] = ['', 'stranger']
  #generation = 0
  #ticket = 0
  #nowMs = 0
  #refusal: number | null = null

  constructor(seed: number) {
    this.#random = new Random(seed)
    this.#shard = new GroupShard(config, this.#random.fork())
    this.#take(this.#shard.loaded(this.#moment()))
  }

  #moment() {
    return { nowMs: this.#nowMs, wallMs: this.#nowMs, deletionMs: this.#nowMs, refusal: this.#refusal }
  }

  step(): void {
    const random = this.#random
    if (random.chance(0.02)) this.#refusal = this.#refusal === null ? 15 : null
    if (random.chance(0.01)) this.#failOver()
    if (random.chance(0.4)) this.advance(random.chance(0.9) ? random.below(500) : random.below(60_000))
    const request = this.#request()
    const ticket = ++this.#ticket
    this.#waiting.set(ticket, request.type)
    this.#take(this.#shard.handle(request, ticket, this.#moment()))
  }

  advance(ms: number): void {
    const endMs = this.#nowMs + ms
    for (;;) {
      const deadlineMs = this.#shard.nextDeadlineMs()
      if (deadlineMs === null || deadlineMs > endMs) break
      assert.ok(deadlineMs >= this.#nowMs, `deadline ${deadlineMs} at ${this.#nowMs}`)
      this.#nowMs = deadlineMs
      this.#take(this.#shard.tick(this.#moment()))
    }
    this.#nowMs = endMs
  }

  #failOver(): void {
    // The runtime answers who waits, with an error.
    this.#waiting.clear()
    this.#shard = this.#replayed()
    this.#take(this.#shard.loaded(this.#moment()))
  }

  #replayed(): GroupShard {
    const shard = new GroupShard(config, this.#random.fork())
    for (const [offset, { key, value }] of this.#log.entries()) {
      shard.replay(decodeRecord(key, value), { offset, producerId: null })
    }
    return shard
  }

  #take(outcome: Outcome<GroupRecord, GroupResponse>): void {
    if (this.#refusal !== null) assert.equal(outcome.records.length, 0, 'records although the log takes none')
    for (const record of outcome.records) {
      this.#shard.replay(record, { offset: this.#log.length, producerId: null })
      this.#log.push(encodeRecord(record))
    }
    assert.ok(outcome.seen < this.#log.length)
    for (const { ticket, response } of outcome.replies) {
      assert.ok(this.#waiting.delete(ticket), `an answer for ${ticket}, which does not wait`)
      if (response === null) continue
      if ('memberId' in response && response.memberId !== '') this.#memberIds.push(response.memberId)
      if ('generationId' in response && response.generationId > 0) this.#generation = response.generationId
    }
  }

  /** In the end everybody has been answered, and the log alone gives the offsets that memory has. */
  finish(): void {
    this.#refusal = null
    this.advance(3_000_000)
    assert.deepEqual([...this.#waiting.entries()], [], 'requests that were never answered')
    assert.equal(offsetsOf(this.#replayed()), offsetsOf(this.#shard))
  }

  #request(): GroupRequest {
    const random = this.#random
    const types: readonly GroupCall[] = [
      ...['join', 'join', 'join', 'sync', 'sync', 'sync', 'heartbeat', 'heartbeat', 'leave', 'commit-offsets'],
      ...[
        'commit-offsets',
        'fetch-offsets',
        'delete-offsets',
        'list',
        'describe',
        'delete-groups',
        'forget-topics',
        'outlooks',
        'standings',
      ],
    ] as GroupCall[]
    const type = random.pick(types)
    const caller = { apiVersion: random.between(0, 9), clientId: 'c', clientHost: '/127.0.0.1' }
    return { type, caller, body: this.#body(type) } as GroupRequest
  }

  #body(type: GroupCall): unknown {
    const random = this.#random
    const groupId = random.pick(['g', 'g', 'g', 'h', ''])
    const memberId = random.pick(this.#memberIds.slice(-6))
    const groupInstanceId = random.chance(0.3) ? random.pick(['one', 'two', 'three']) : null
    const generationId = random.pick([this.#generation, this.#generation, this.#generation, -1, 0])
    const topics = [
      {
        name: random.pick(['orders', 'payments']),
        topicId: NO_TOPIC_ID,
        partitions: [
          { partitionIndex: 0, committedOffset: random.below(100), committedLeaderEpoch: -1, committedMetadata: null },
        ],
      },
    ]
    switch (type) {
      case 'join': {
        const protocols = ['range', 'sticky'].filter(() => random.chance(0.8))
        return {
          groupId,
          memberId: random.chance(0.4) ? '' : memberId,
          groupInstanceId,
          sessionTimeoutMs: random.pick([6000, 30_000]),
          rebalanceTimeoutMs: random.pick([-1, 1000, 60_000]),
          protocolType: random.chance(0.9) ? 'consumer' : 'connect',
          protocols: protocols.map((name) => ({ name, metadata: random.pick([Buffer.from('x'), SUBSCRIPTION]) })),
          reason: null,
        }
      }
      case 'sync': {
        const assignments = this.#memberIds.slice(-4).map((id) => ({ memberId: id, assignment: Buffer.from('a') }))
        return { groupId, memberId, groupInstanceId, generationId, protocolType: null, protocolName: null, assignments }
      }
      case 'heartbeat':
        return { groupId, memberId, groupInstanceId, generationId }
      case 'leave':
        return {
          groupId,
          memberId: '',
          members: [{ memberId: random.chance(0.2) ? '' : memberId, groupInstanceId, reason: null }],
        }
      case 'commit-offsets':
        return {
          groupId,
          memberId,
          groupInstanceId,
          generationIdOrMemberEpoch: generationId,
          retentionTimeMs: -1,
          topics,
        }
      case 'fetch-offsets':
        return { groupId, memberId: null, memberEpoch: -1, requireStable: false, topics: null }
      case 'delete-offsets':
        return { groupId, topics }
      case 'list':
        return { statesFilter: [], typesFilter: [] }
      case 'describe':
      case 'delete-groups':
        return [groupId]
      case 'forget-topics':
        return new Map([['orders', NO_TOPIC_ID]])
      case 'outlooks': {
        const startOffset = random.below(100)
        const steps = random.chance(0.5)
          ? []
          : [{ endOffset: startOffset + random.below(20), dueMs: random.below(1e6) }]
        const outlook = {
          topic: 'orders',
          topicId: NO_TOPIC_ID as TopicId,
          partition: 0,
          leaderEpoch: 0,
          startOffset,
          steps,
        }
        return [{ outlook, startBefore: random.chance(0.5) ? null : random.below(startOffset + 1) }]
      }
      case 'standings':
        return { groupIds: random.chance(0.5) ? null : [groupId], onlyAtRisk: random.chance(0.5) }
    }
  }
}

const SUBSCRIPTION = Buffer.from('0000000000010006' + Buffer.from('orders').toString('hex'), 'hex')

/** Offsets of all groups, without what is in memory only. */
function offsetsOf(shard: GroupShard): string {
  const lines = shard.dump().split('\n')
  return lines
    .flatMap((line) => (/offsets=\(.+\)/.test(line) ? [line.replace(/ .* offsets/, ' offsets')] : []))
    .sort()
    .join('\n')
}

test(`clients that do anything at all break no promise of a shard, ${SEEDS} seeds`, () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const chaos = new Chaos(seed)
    try {
      for (let step = 0; step < STEPS; step++) chaos.step()
      chaos.finish()
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error })
    }
  }
})

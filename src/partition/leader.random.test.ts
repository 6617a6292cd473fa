import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PartitionLeader } from './leader.ts'
import type { Effect, EligibleBroker, Input, LeaderOptions } from './types.ts'

const REPLICAS = [1, 2, 3]
const eligible: EligibleBroker[] = REPLICAS.map((id) => ({ id, brokerEpoch: id }))

/** What happens to one partition, as numbers to be read in the light of what has happened before. */
const event = fc.record({
  kind: fc.constantFrom('append', 'write', 'sync', 'fetch', 'fetch', 'fetch', 'tick', 'commit', 'drop'),
  replica: fc.constantFrom(2, 3),
  by: fc.nat(5),
  lag: fc.nat(8),
  waitMs: fc.nat(8000),
})

test('the high watermark never falls and never passes what a member, committed or proposed, has fsynced', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 120 }), fc.constantFrom(1, 2, 3), (events, minInsyncReplicas) => {
      const world = new World(minInsyncReplicas)
      for (const happening of events) world.happen(happening)
    }),
    { numRuns: 400 },
  )
})

/** The dumb second version: it knows what everyone holds and what the controller may have taken. */
class World {
  readonly leader: PartitionLeader
  readonly minInsync: number
  nowMs = 0
  end = 0
  written = 0
  durable = 0
  highWatermark = 0
  readonly held = new Map([
    [2, 0],
    [3, 0],
  ])
  readonly synced = new Map([
    [2, 0],
    [3, 0],
  ])
  isr: readonly number[] = REPLICAS
  partitionEpoch = 0
  proposal: readonly number[] | null = null

  constructor(minInsyncReplicas: number) {
    this.minInsync = minInsyncReplicas
    const options: LeaderOptions = {
      nodeId: 1,
      leaderEpoch: 0,
      registration: { replicas: REPLICAS, addingReplicas: [], isr: REPLICAS, elr: [], partitionEpoch: 0 },
      eligible,
      durability: 'fsync',
      minInsyncReplicas,
      lagTimeMaxMs: 10_000,
      endOffset: 0,
      writtenOffset: 0,
      durableOffset: 0,
      highWatermark: 0,
      nowMs: 0,
    }
    this.leader = new PartitionLeader(options)
  }

  happen({
    kind,
    replica,
    by,
    lag,
    waitMs,
  }: {
    kind: string
    replica: number
    by: number
    lag: number
    waitMs: number
  }) {
    this.nowMs += waitMs
    if (kind === 'append') this.end += by
    if (kind === 'write') this.written = Math.min(this.end, this.written + by)
    if (kind === 'sync') this.durable = this.written
    if (kind === 'append' || kind === 'write' || kind === 'sync') {
      const positions = { endOffset: this.end, writtenOffset: this.written, durableOffset: this.durable }
      this.step({ type: 'progressed', ...positions, nowMs: this.nowMs })
    }
    if (kind === 'fetch') this.fetch(replica, lag)
    if (kind === 'tick') this.step({ type: 'tick', nowMs: this.nowMs })
    if (this.proposal === null) return
    if (kind === 'commit') {
      this.isr = this.proposal
      this.proposal = null
      this.partitionEpoch += 1
      const registration = {
        replicas: REPLICAS,
        addingReplicas: [],
        elr: [],
        isr: this.isr,
        partitionEpoch: this.partitionEpoch,
      }
      this.step({ type: 'registered', registration, eligible })
    }
    if (kind === 'drop') {
      this.proposal = null
      this.step({ type: 'isr-refused', nowMs: this.nowMs })
    }
  }

  fetch(replica: number, lag: number): void {
    const held = Math.max(this.held.get(replica) as number, this.end - lag)
    const synced = Math.max(this.synced.get(replica) as number, held - lag)
    this.held.set(replica, held)
    this.synced.set(replica, synced)
    const positions = { startOffset: 0, endOffset: held, writtenOffset: null, durableOffset: synced }
    this.step({ type: 'fetched', replica, brokerEpoch: replica, ...positions, nowMs: this.nowMs })
  }

  step(input: Input): void {
    for (const effect of this.leader.step(input)) this.check(effect)
    assert.equal(this.leader.highWatermark, this.highWatermark)
  }

  check(effect: Effect): void {
    if (effect.type === 'propose-isr') {
      assert.equal(effect.partitionEpoch, this.partitionEpoch)
      this.proposal = effect.isr.map(({ id }) => id)
      for (const id of this.proposal) {
        if (this.isr.includes(id)) continue
        assert.ok((this.synced.get(id) as number) >= this.highWatermark, `${id} joins without what is committed`)
      }
      return
    }
    assert.ok(effect.offset > this.highWatermark)
    assert.ok(this.isr.length >= this.minInsync, 'raised under min.insync')
    for (const id of new Set([...this.isr, ...(this.proposal ?? [])])) {
      const has = id === 1 ? this.durable : (this.synced.get(id) as number)
      assert.ok(effect.offset <= has, `committed ${effect.offset}, but ${id} has ${has}`)
    }
    this.highWatermark = effect.offset
  }
}

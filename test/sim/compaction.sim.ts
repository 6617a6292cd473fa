/**
 * A compacted topic on one node, whose segments are closed and cleaned all the while, also across crashes. Whoever reads it
 * from its first record on, and takes less than `delete.retention.ms` for it, ends with the newest value of every key, and
 * without those that were deleted (H19).
 */
import assert from 'node:assert/strict'
import { CreateTopics } from '../../src/protocol/apis/create-topics.ts'
import { Fetch } from '../../src/protocol/apis/fetch.ts'
import { Produce } from '../../src/protocol/apis/produce.ts'
import { buildBatch } from '../../src/protocol/batch/build.ts'
import { batchesOf, recordsOf } from '../../src/protocol/batch/records.ts'
import { lastOffset } from '../../src/protocol/batch/header.ts'
import type { ClusterClient } from '../../src/sim/clients/cluster-client.ts'
import { EARLIEST, LATEST, listOffset } from '../../src/sim/clients/fetching.ts'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'

const TOPIC = 'accounts'
const KEYS = 60
const DELETE_RETENTION_MS = 8000
/** Of a whole reading. The clock of the node counts from the first round that saw a tombstone, so this is safely below. */
const READING_MS_MAX = 6000
const CONFIGS = {
  'cleanup.policy': 'compact',
  'segment.ms': '150',
  'min.cleanable.dirty.ratio': '0.01',
  'delete.retention.ms': String(DELETE_RETENTION_MS),
  'file.delete.delay.ms': '0',
}

/** What was answered, in the order of the log. */
class Accounts {
  /** By key: every value that was acknowledged, null for a tombstone, by offset. */
  readonly #written = new Map<string, { readonly offset: number; readonly value: string | null }[]>()
  readonly #client: ClusterClient
  readonly #sim: Sim
  /** Of the write that was begun last: it may be in the log already. */
  #writing = ''
  #values = 0
  isOver = false
  readings = 0

  constructor(sim: Sim, client: ClusterClient) {
    this.#sim = sim
    this.#client = client
  }

  /** One record after the other, each until it is acknowledged: a repetition of one that was in is the same value. */
  async keepWriting(): Promise<void> {
    const random = this.#sim.streams.workload
    while (!this.isOver) {
      const key = `key-${random.below(KEYS)}`
      const value = random.chance(0.3) ? null : `${++this.#values}`
      this.#writing = key
      const offset = await this.#client.persist(() => this.#write(key, value))
      this.#written.set(key, [...(this.#written.get(key) ?? []), { offset, value }])
      await this.#sim.runFor(random.float() * 60)
    }
  }

  async #write(key: string, value: string | null): Promise<number | null> {
    const { topicId } = await this.#client.topic(TOPIC)
    const wire = await this.#client.leaderOf(TOPIC, 0)
    const record = {
      key: Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      timestampMs: this.#client.env.clock.wallMs(),
    }
    const records = [buildBatch({ records: [record] })]
    const topicData = [{ name: TOPIC, topicId, partitionData: [{ index: 0, records }] }]
    const answer = await wire.request(Produce, { acks: -1, timeoutMs: 5000, topicData })
    const result = answer.responses[0]?.partitionResponses[0]
    if (result?.errorCode === 0) return result.baseOffset
    this.#client.forget(TOPIC)
    return null
  }

  /** Reads it all, now and then with pauses between. */
  async keepReading(client: ClusterClient): Promise<void> {
    const random = this.#sim.streams.workload.fork()
    while (!this.isOver) {
      const pauseMs = random.pick([0, 50, 300])
      await this.readOnce(client, pauseMs)
      await this.#sim.runFor(random.float() * 500)
    }
  }

  async readOnce(client: ClusterClient, pauseMs: number): Promise<void> {
    const beganMs = this.#sim.nowMs
    const { offset: end } = await client.persist(() =>
      listOffset(client, { topic: TOPIC, partition: 0, timestamp: LATEST }),
    )
    const expected = this.#newestBelow(end)
    const { offset: start } = await client.persist(() =>
      listOffset(client, { topic: TOPIC, partition: 0, timestamp: EARLIEST }),
    )
    const seen = new Map<string, { offset: number; value: string | null }>()
    for (let offset = start; offset < end; ) {
      offset = await client.persist(() => this.#read(client, offset, seen))
      if (this.#sim.nowMs - beganMs < READING_MS_MAX / 2) await this.#sim.runFor(pauseMs)
    }
    // Who takes longer than that may miss a tombstone: it must begin anew.
    if (this.#sim.nowMs - beganMs > READING_MS_MAX) return
    this.readings++
    for (const [key, newest] of expected) {
      const found = seen.get(key)
      // A newer one takes the place of all before it, also where it lies behind what was read.
      if (this.#writing === key || this.#newestOf(key) > newest.offset) continue
      const told = found?.value ?? null
      assert.equal(
        told,
        newest.value,
        `H19: ${key} is ${told} at ${found?.offset}, newest is ${newest.offset}, end ${end}`,
      )
    }
  }

  #newestBelow(end: number): Map<string, { offset: number; value: string | null }> {
    const newest = new Map<string, { offset: number; value: string | null }>()
    for (const [key, all] of this.#written) {
      const last = all.findLast(({ offset }) => offset < end)
      if (last !== undefined) newest.set(key, last)
    }
    return newest
  }

  #newestOf(key: string): number {
    return this.#written.get(key)?.at(-1)?.offset ?? -1
  }

  async #read(
    client: ClusterClient,
    offset: number,
    seen: Map<string, { offset: number; value: string | null }>,
  ): Promise<number | null> {
    const { topicId } = await client.topic(TOPIC)
    const wire = await client.leaderOf(TOPIC, 0)
    const partitions = [{ partition: 0, fetchOffset: offset, partitionMaxBytes: client.random.pick([1, 300, 3000]) }]
    const topics = [{ topic: TOPIC, topicId, partitions }]
    const answer = await wire.request(Fetch, { maxWaitMs: 100, minBytes: 1, topics, forgottenTopicsData: [] })
    const result = answer.responses[0]?.partitions[0]
    if (result?.errorCode !== 0) {
      client.forget(TOPIC)
      return null
    }
    const bytes = Buffer.concat(result.records ?? [])
    let next: number | null = null
    for (const at of batchesOf(bytes)) {
      for (const record of recordsOf(bytes, at)) {
        if (record.offset < offset) continue
        const before = seen.get(String(record.key))
        assert.ok((before?.offset ?? -1) < record.offset, 'offsets grow')
        seen.set(String(record.key), { offset: record.offset, value: record.value && String(record.value) })
      }
      next = lastOffset(bytes, at) + 1
    }
    return next
  }
}

scenario('a compacted topic keeps the newest value of every key', { seeds: 60 }, async (sim) => {
  const random = sim.streams.faults
  const settings = { 'log.cleaner.backoff.ms': '100', 'offsets.topic.num.partitions': '1' }
  const cluster = new SimCluster(sim, { nodes: 1, settings })
  const [node] = cluster.nodes as [SimNode]
  const writer = cluster.client('writer').client
  const configs = Object.entries(CONFIGS).map(([name, value]) => ({ name, value }))
  const topics = [{ name: TOPIC, numPartitions: 1, replicationFactor: 1, assignments: [], configs }]
  await writer.persist(async () => {
    const answer = await (await writer.any()).request(CreateTopics, { topics, timeoutMs: 10_000 }, { fromVersion: 5 })
    return answer.topics[0]?.errorCode === 0 ? true : null
  })
  const accounts = new Accounts(sim, writer)
  const work = [accounts.keepWriting()]
  for (const name of ['one', 'two', 'three']) work.push(accounts.keepReading(cluster.client(name).client))
  for (let crashes = random.below(4); crashes >= 0; crashes--) {
    await sim.runFor(random.float() * 8000)
    if (crashes === 0) break
    if (random.chance(0.5)) node.kill()
    else node.losePower('any')
    await sim.runFor(random.float() * 300)
    node.start()
  }
  await sim.runFor(2000)
  accounts.isOver = true
  await sim.within(Promise.all(work), { withinMs: 60_000, what: 'all that was asked is answered' })
  await sim.within(accounts.readOnce(writer, 0), { withinMs: 60_000, what: 'reading it all' })
})

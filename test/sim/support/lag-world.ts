import assert from 'node:assert/strict'
import { DescribeGroups } from '../../../src/protocol/apis/describe-groups.ts'
import { OffsetCommit } from '../../../src/protocol/apis/offset-commit.ts'
import { Produce } from '../../../src/protocol/apis/produce.ts'
import { buildBatch } from '../../../src/protocol/batch/build.ts'
import type { ClusterClient } from '../../../src/sim/clients/cluster-client.ts'
import type { SimCluster } from '../../../src/sim/cluster/sim-cluster.ts'
import type { Sim } from '../../../src/sim/sim.ts'

export const TOPIC = 'orders'
/** What leaders know is told to coordinators within that, when all are well. */
const TOLD_WITHIN_MS = 3000
/** Disks stand still now and then, and retention goes on every second. */
const TRIES_MAX = 20
const WARNING = 'A group is about to lose'

interface Position {
  offset: number
  /** The newest of the offsets lost, as [from, to). */
  lost: [from: number, to: number] | null
}

interface GroupTruth {
  readonly positions: Map<number, Position>
}

/**
 * What a test knows of a topic and its groups beside what the cluster says of them: it alone produces and commits, one
 * thing at a time while all are well, so that there is one truth.
 */
export class LagWorld {
  readonly #sim: Sim
  readonly #cluster: SimCluster
  readonly #client: ClusterClient
  readonly #retentionMs: number
  /** Timestamps, by partition and offset. */
  readonly #times: number[][]
  readonly #starts: number[]
  readonly #groups = new Map<string, GroupTruth>()
  /** Groups that were warned of, and how many losses came without a warning. */
  readonly #warned = new Set<string>()

  constructor(sim: Sim, cluster: SimCluster, options: { partitions: number; retentionMs: number }) {
    this.#sim = sim
    this.#cluster = cluster
    this.#client = cluster.client('truth').client
    this.#retentionMs = options.retentionMs
    this.#times = Array.from({ length: options.partitions }, () => [])
    this.#starts = this.#times.map(() => 0)
    const before = sim.logs.onLine
    sim.logs.isOn = true
    sim.logs.onLine = (line) => {
      before?.(line)
      const group = / group=(\S+)/.exec(line)?.[1]
      if (group !== undefined && line.includes(WARNING)) this.#warned.add(group)
    }
  }

  async create(configs: Readonly<Record<string, string>>): Promise<void> {
    const partitions = this.#times.length
    const replicationFactor = Math.min(3, this.#cluster.brokers.length)
    const all = { 'retention.ms': String(this.#retentionMs), ...configs }
    await this.#cluster.createTopic(this.#client, { name: TOPIC, partitions, replicationFactor, configs: all })
  }

  get partitions(): number {
    return this.#times.length
  }

  /** One batch, each record as old as given. */
  async produce(partition: number, agesMs: readonly number[]): Promise<void> {
    const nowMs = this.#client.env.clock.wallMs()
    const records = agesMs.map((ageMs) => ({ key: null, value: Buffer.alloc(50), timestampMs: nowMs - ageMs }))
    const { topicId } = await this.#client.topic(TOPIC)
    const answer = await this.#client.persist(async () => {
      const wire = await this.#client.leaderOf(TOPIC, partition)
      const topicData = [
        { name: TOPIC, topicId, partitionData: [{ index: partition, records: [buildBatch({ records })] }] },
      ]
      const response = await wire.request(Produce, { acks: -1, timeoutMs: 30_000, topicData }, { timeoutMs: 40_000 })
      const result = response.responses[0]?.partitionResponses[0]
      if (result?.errorCode === 0) return result
      this.#client.forget(TOPIC)
      return null
    })
    const times = this.#times[partition] as number[]
    assert.equal(answer.baseOffset, times.length, 'this test alone produces')
    times.push(...records.map(({ timestampMs }) => timestampMs))
  }

  /** Where a commit may be: from what a reader can still read to the end. */
  range(partition: number): [from: number, to: number] {
    return [this.#starts[partition] ?? 0, this.#times[partition]?.length ?? 0]
  }

  async commit(groupId: string, partition: number, offset: number): Promise<void> {
    const { topicId } = await this.#client.topic(TOPIC)
    const partitions = [{ partitionIndex: partition, committedOffset: offset, committedMetadata: null }]
    const topics = [{ name: TOPIC, topicId, partitions }]
    await this.#client.persist(async () => {
      const wire = await this.#client.coordinatorOf(groupId)
      const body = { groupId, generationIdOrMemberEpoch: -1, memberId: '', topics }
      const answer = await wire?.request(OffsetCommit, body, { timeoutMs: 40_000 })
      return answer?.topics[0]?.partitions[0]?.errorCode === 0 ? true : null
    })
    const group = this.#groups.get(groupId) ?? { positions: new Map() }
    this.#groups.set(groupId, group)
    const lost = group.positions.get(partition)?.lost ?? null
    group.positions.set(partition, { offset, lost })
  }

  /** Time has passed, or nodes have failed: what was deleted meanwhile, and who had not read it? All are well again. */
  async observe(): Promise<void> {
    await this.#cluster.settled()
    await this.#sim.runFor(TOLD_WITHIN_MS)
    for (const [partition] of this.#starts.entries()) {
      const leader = this.#cluster.leaderOf(TOPIC, partition)
      const start = leader?.node?.replicas?.hosted.get(TOPIC, partition)?.log?.logStartOffset
      assert.ok(start !== undefined, `nobody leads ${TOPIC}-${partition}`)
      this.#starts[partition] = Math.max(start, this.#starts[partition] ?? 0)
    }
    for (const [groupId, group] of this.#groups) this.#lose(groupId, group)
  }

  #lose(groupId: string, group: GroupTruth): void {
    for (const [partition, position] of group.positions) {
      const start = this.#starts[partition] ?? 0
      const from = Math.max(position.offset, position.lost?.[1] ?? 0)
      if (from >= start) continue
      assert.ok(this.#warned.has(groupId), `${groupId} lost ${partition}/${from} to ${start}, and nobody had warned`)
      position.lost = [position.lost?.[1] === from ? position.lost[0] : from, start]
    }
  }

  /** Compares what the cluster says of every group with the truth. */
  async check(): Promise<void> {
    for (const [groupId, { positions }] of this.#groups) {
      const { group, nowMs, tookMs } = await this.#describe(groupId)
      assert.equal(group.lag?.length, positions.size)
      for (const lag of group.lag ?? []) {
        const position = positions.get(lag.partition) as Position
        this.#checkLag(groupId, position, lag, { nowMs, tookMs })
        const last = group.lost.filter(({ partition }) => partition === lag.partition).at(-1)
        const lost = last === undefined ? null : [last.from, last.to]
        assert.deepEqual(lost, position.lost, `lost of ${groupId} in ${lag.partition}`)
      }
    }
  }

  /** In a moment in which retention does not go on; and a leader whose disk stands still is not waited for by the coordinator. */
  async #describe(groupId: string) {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const nowMs = this.#client.env.clock.wallMs()
      const group = await this.#client.tolerate(async () => {
        const wire = await this.#client.coordinatorOf(groupId)
        const answer = await wire?.request(DescribeGroups, { groups: [groupId], includeLag: true }, { fromVersion: 5 })
        const described = answer?.groups[0]
        return described?.errorCode === 0 ? described : null
      })
      const tookMs = this.#client.env.clock.wallMs() - nowMs
      const isStill =
        group?.lag?.every(({ partition, startOffset }) => startOffset === this.#starts[partition]) === true
      if (group !== null && isStill) return { group, nowMs, tookMs }
      await this.observe()
    }
    throw new Error(`${groupId} cannot be described`)
  }

  #checkLag(
    groupId: string,
    { offset }: Position,
    said: { partition: number; lag: number; lagMs: number; leftMs: number; endOffset: number },
    { nowMs, tookMs }: { nowMs: number; tookMs: number },
  ): void {
    const times = this.#times[said.partition] as number[]
    const where = `${groupId} at ${said.partition}/${offset}`
    const first = Math.max(offset, this.#starts[said.partition] ?? 0)
    assert.equal(said.endOffset, times.length, where)
    assert.equal(said.lag, times.length - first, where)
    if (first === times.length) return assert.deepEqual([said.lagMs, said.leftMs], [0, -1], where)
    const ageMs = nowMs - (times[first] as number)
    assert.ok(said.lagMs >= ageMs && said.lagMs <= ageMs + tookMs, `${where}: ${said.lagMs} ms, and it is ${ageMs}`)
    // Its segment is as young as its youngest record, so it stays at least as long as it would alone.
    const aloneMs = Math.max(0, (times[first] as number) + this.#retentionMs - nowMs - tookMs)
    assert.ok(said.leftMs >= aloneMs, `${where}: ${said.leftMs} ms left, and it stays ${aloneMs} at least`)
  }
}

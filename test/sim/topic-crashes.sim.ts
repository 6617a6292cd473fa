/**
 * Topics are created, grown, written to, emptied and deleted on one node that dies at random instants, with a metadata snapshot every few
 * records. What was answered must hold: a created topic is there with its id and every acknowledged record, a deleted one
 * is not, nothing of it is seen under a later topic of its name, and no directory is left that nobody knows.
 */
import assert from 'node:assert/strict'
import { CreatePartitions } from '../../src/protocol/apis/create-partitions.ts'
import { CreateTopics } from '../../src/protocol/apis/create-topics.ts'
import { DeleteRecords } from '../../src/protocol/apis/delete-records.ts'
import { DeleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { Fetch } from '../../src/protocol/apis/fetch.ts'
import { ListOffsets } from '../../src/protocol/apis/list-offsets.ts'
import { Metadata } from '../../src/protocol/apis/metadata.ts'
import { Produce } from '../../src/protocol/apis/produce.ts'
import { buildBatch } from '../../src/protocol/batch/build.ts'
import { batchesOf, recordsOf } from '../../src/protocol/batch/records.ts'
import { ErrorCode } from '../../src/protocol/errors.ts'
import { EARLIEST } from '../../src/sim/clients/fetching.ts'
import type { ClusterClient } from '../../src/sim/clients/cluster-client.ts'
import { DATA_FOLDER } from '../../src/sim/cluster/node-config.ts'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { FileNode } from '../../src/sim/disk/nodes.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'

const NAMES = ['a', 'b', 'c'] as const
/** Answers to Fetch and Produce name topics by id from here on. */
const BY_ID_VERSION = 13

scenario('topics that come and go survive crashes as they were answered', { seeds: 200 }, async (sim) => {
  const random = sim.streams.workload
  const cluster = new SimCluster(sim, {
    nodes: 1,
    settings: { 'metadata.log.max.record.bytes.between.snapshots': random.pick(['300', '2000']) },
  })
  const [node] = cluster.nodes as [SimNode]
  const { client } = cluster.client('admin')
  const topics = NAMES.map((name) => new Topic(client, name))
  for (let crashes = random.between(3, 10); crashes > 0; crashes--) {
    const crashAtMs = sim.nowMs + random.float() * 1500
    const work = act(sim, topics, crashAtMs)
    await sim.runFor(crashAtMs - sim.nowMs)
    await crash(sim, node)
    node.start()
    await sim.within(work, { withinMs: 60_000, what: 'the last request is answered or given up' })
    for (const topic of topics) await sim.within(topic.check(), { withinMs: 60_000, what: `${topic.name} is checked` })
  }
  const { tree } = node.machine
  const names = tree.list(DATA_FOLDER).filter((name) => /^[abc]-/.test(name) && !name.endsWith('-delete'))
  const isKept = (name: string) => name.endsWith('-stray')
  assert.deepEqual(
    names.filter((name) => !isKept(name)),
    topics.flatMap((topic) => topic.directories).sort(),
  )
  // Only what a power cut has robbed of its name is kept: nobody can say what it is.
  for (const name of names.filter(isKept)) {
    const file = tree.find(`${DATA_FOLDER}/${name}/partition.metadata`)
    const content = Buffer.alloc(100)
    if (file instanceof FileNode) file.content.read(content, 0)
    assert.doesNotMatch(content.toString(), /topic_id: \S{22}/, `${name} says whose it is`)
  }
})

async function crash(sim: Sim, node: SimNode): Promise<void> {
  switch (sim.streams.faults.below(4)) {
    case 0:
      return sim.within(node.stop(), { withinMs: 60_000, what: 'a clean stop' })
    case 1:
      return node.kill()
    default:
      return node.losePower(sim.streams.faults.pick(['any', 'all', 'none']))
  }
}

async function act(sim: Sim, topics: readonly Topic[], untilMs: number): Promise<void> {
  const random = sim.streams.workload
  while (sim.nowMs < untilMs) {
    const topic = random.pick(topics)
    const what = random.pick(['create', 'delete', 'grow', 'wipe', 'send', 'send', 'send', 'send'] as const)
    if (what === 'create') await topic.create(random.between(1, 3))
    else if (what === 'delete') await topic.delete()
    else if (what === 'grow') await topic.grow()
    else if (what === 'wipe') await topic.wipe()
    else await topic.send()
    await sim.runFor(random.float() * 20)
  }
}

/** What is known of the topic of one name, and what is not. */
class Topic {
  readonly name: string
  readonly #client: ClusterClient
  /** Of the topic that was there last, as far as anyone was told. */
  #topicId: string | null = null
  #partitions = 0
  #isSure = true
  #values = 0
  /** There may be more partitions: an answer did not come. */
  #mayHaveGrown = false
  /** Acknowledged in partition 0 of `#topicId`, by value. */
  #acknowledged = new Map<string, number>()
  /** Nothing before this offset is there any more; nothing before the other one need be. */
  #wipedTo = 0
  #maybeWipedTo = 0

  constructor(client: ClusterClient, name: string) {
    this.#client = client
    this.name = name
  }

  get directories(): string[] {
    return this.#topicId === null ? [] : Array.from({ length: this.#partitions }, (_, index) => `${this.name}-${index}`)
  }

  async create(partitions: number): Promise<void> {
    const topic = { name: this.name, numPartitions: partitions, replicationFactor: 1, assignments: [], configs: [] }
    const answer = await this.#ask(async () =>
      (await this.#client.any()).request(CreateTopics, { topics: [topic], timeoutMs: 5000 }, { fromVersion: 7 }),
    )
    const created = answer?.topics[0]
    if (created === undefined) this.#isSure = false
    else if (created.errorCode === 0) {
      if (this.#isSure) assert.equal(this.#topicId, null, `${this.name} was there and could be created`)
      this.#begin(created.topicId, partitions)
      this.#isSure = true
    } else assert.equal(created.errorCode, ErrorCode.TOPIC_ALREADY_EXISTS)
  }

  #begin(topicId: string | null, partitions: number): void {
    if (topicId === this.#topicId) return
    this.#topicId = topicId
    this.#partitions = partitions
    this.#mayHaveGrown = false
    this.#acknowledged.clear()
    this.#wipedTo = 0
    this.#maybeWipedTo = 0
  }

  /** One partition more. */
  async grow(): Promise<void> {
    if (this.#topicId === null || this.#partitions >= 5 || this.#mayHaveGrown) return
    const body = { topics: [{ name: this.name, count: this.#partitions + 1, assignments: null }], timeoutMs: 5000 }
    const answer = await this.#ask(async () =>
      (await this.#client.any()).request(CreatePartitions, { ...body, validateOnly: false }),
    )
    const grown = answer?.results[0]
    if (grown === undefined) this.#mayHaveGrown = true
    else if (grown.errorCode === 0) this.#partitions++
    else assert.equal(grown.errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
  }

  /** Deletes all records of partition 0. */
  async wipe(): Promise<void> {
    if (this.#topicId === null) return
    const topics = [{ name: this.name, partitions: [{ partitionIndex: 0, offset: -1 }] }]
    const answer = await this.#ask(async () =>
      (await this.#client.any()).request(DeleteRecords, { topics, timeoutMs: 5000 }),
    )
    const wiped = answer?.topics[0]?.partitions[0]
    const mayBeGone = Math.max(0, ...this.#acknowledged.values()) + 1
    if (wiped?.errorCode === 0) this.#wipedTo = Math.max(this.#wipedTo, wiped.lowWatermark)
    this.#maybeWipedTo = Math.max(this.#maybeWipedTo, this.#wipedTo, wiped === undefined ? mayBeGone : 0)
  }

  async delete(): Promise<void> {
    const topicId = this.#topicId
    if (topicId === null) return
    const body = { topics: [{ name: null, topicId }], timeoutMs: 5000 }
    const answer = await this.#ask(async () =>
      (await this.#client.any()).request(DeleteTopics, body, { fromVersion: 6 }),
    )
    const deleted = answer?.responses[0]
    if (deleted === undefined) this.#isSure = false
    else if (deleted.errorCode === 0) this.#begin(null, 0)
    else assert.equal(deleted.errorCode, ErrorCode.UNKNOWN_TOPIC_ID)
  }

  async send(): Promise<void> {
    const topicId = this.#topicId
    if (topicId === null) return
    const value = `${this.name}-${++this.#values}`
    const records = [buildBatch({ records: [{ key: null, value: Buffer.from(value), timestampMs: 1 }] })]
    const topicData = [{ topicId, partitionData: [{ index: 0, records }] }]
    const answer = await this.#ask(async () =>
      (await this.#client.any()).request(
        Produce,
        { acks: -1, timeoutMs: 5000, topicData },
        { fromVersion: BY_ID_VERSION },
      ),
    )
    const sent = answer?.responses[0]?.partitionResponses[0]
    if (sent?.errorCode === 0) this.#acknowledged.set(value, sent.baseOffset)
  }

  /** Null when no answer came. */
  #ask<T>(request: () => Promise<T>): Promise<T | null> {
    return this.#client.tolerate(request)
  }

  /** Compares what is there with what is known. */
  async check(): Promise<void> {
    const body = {
      topics: [{ name: this.name }],
      allowAutoTopicCreation: false,
      includeTopicAuthorizedOperations: false,
    }
    const found = await this.#client.persist(async () => {
      const answer = await (await this.#client.any()).request(Metadata, body, { fromVersion: 10 })
      return answer.topics[0] ?? null
    })
    const isThere = found.errorCode === 0
    if (!isThere) assert.equal(found.errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if (this.#isSure) assert.equal(isThere ? found.topicId : null, this.#topicId, `${this.name} is as it was answered`)
    else this.#begin(isThere ? found.topicId : null, found.partitions.length)
    this.#isSure = true
    if (this.#topicId === null) return
    if (this.#mayHaveGrown && found.partitions.length === this.#partitions + 1) this.#partitions++
    this.#mayHaveGrown = false
    assert.equal(found.partitions.length, this.#partitions)
    const values = await this.#read(this.#topicId)
    for (const [value, offset] of this.#acknowledged) {
      if (offset < this.#wipedTo) assert.ok(!values.includes(value), `${value} was deleted and is there again`)
      else if (offset >= this.#maybeWipedTo) assert.ok(values.includes(value), `${value} was acknowledged and is lost`)
    }
    assert.ok(values.every((value) => value.startsWith(`${this.name}-`)))
  }

  /** The first offset of partition 0. */
  #start(): Promise<number> {
    const topics = [
      { name: this.name, partitions: [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp: EARLIEST }] },
    ]
    return this.#client.persist(async () => {
      const answer = await (await this.#client.any()).request(
        ListOffsets,
        { topics, replicaId: -1 },
        { fromVersion: 1 },
      )
      const partition = answer.topics[0]?.partitions[0]
      return partition?.errorCode === 0 ? partition.offset : null
    })
  }

  async #read(topicId: string): Promise<string[]> {
    const values: string[] = []
    for (let fetchOffset = await this.#start(); ; ) {
      const partitions = [{ partition: 0, fetchOffset, partitionMaxBytes: 1 << 20 }]
      const body = { maxWaitMs: 0, minBytes: 0, topics: [{ topicId, partitions }], forgottenTopicsData: [] }
      const read = await this.#client.persist(async () => {
        const answer = await (await this.#client.any()).request(Fetch, body, { fromVersion: BY_ID_VERSION })
        const partition = answer.responses[0]?.partitions[0]
        return partition?.errorCode === 0 ? partition : null
      })
      const bytes = Buffer.concat(read.records ?? [])
      for (const at of batchesOf(bytes)) {
        for (const { offset, value } of recordsOf(bytes, at)) {
          values.push(String(value))
          fetchOffset = offset + 1
        }
      }
      if (fetchOffset >= read.highWatermark) return values
    }
  }
}

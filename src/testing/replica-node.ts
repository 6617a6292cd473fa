import { poisonFreeBlocks } from '../base/blocks.ts'
import { topicConfigSource } from '../controller/topic-config.ts'
import type { Env } from '../env/env.ts'
import type { ReplicatedLog } from '../env/replicated-log.ts'
import { MetadataDelta } from '../metadata/delta.ts'
import { MetadataImage } from '../metadata/image.ts'
import { type MetadataRecord, type PartitionRecord, partitionChange, ResourceType } from '../metadata/records.ts'
import { NO_TOPIC_ID, partitionName } from '../model/ids.ts'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import { type BatchToBuild, buildBatch } from '../protocol/batch/build.ts'
import type { FetchAnswer } from '../replica/fetch.ts'
import type { ProduceAnswer } from '../replica/produce.ts'
import type { ReplicaOptions } from '../replica/options.ts'
import { ReplicaManager } from '../replica/replica-manager.ts'
import type { RequestContext } from '../replica/types.ts'
import { LogManager, type LogManagerOptions } from '../storage/log-manager.ts'

poisonFreeBlocks()

export type ProducedPartition = ProduceAnswer['responses'][number]['partitionResponses'][number]
export type FetchedPartition = FetchAnswer['responses'][number]['partitions'][number]

export interface ProduceOptions {
  readonly acks?: number
  readonly timeoutMs?: number
  readonly version?: number
  readonly topicId?: string
  readonly clientId?: string
  readonly partition?: number
}

export interface FetchOptions {
  readonly offset?: number
  readonly maxWaitMs?: number
  readonly minBytes?: number
  readonly maxBytes?: number
  readonly partitionMaxBytes?: number
  readonly readCommitted?: boolean
  readonly leaderEpoch?: number
  readonly lastFetchedEpoch?: number
  readonly topicId?: string
  readonly version?: number
  readonly rack?: string
}

/** Node 1 as far as its partitions go: storage and `ReplicaManager` under an image that the test makes up. */
export class ReplicaNode {
  readonly env: Env
  readonly logs: LogManager
  readonly replicas: ReplicaManager
  image: MetadataImage
  /** What the rest of the node would have heard, as lines. */
  readonly heard: string[] = []
  readonly led = new Map<string, ReplicatedLog>()
  readonly denied = new Set<string>()

  private constructor(env: Env, logs: LogManager, image: MetadataImage, options: Partial<ReplicaOptions>) {
    this.env = env
    this.logs = logs
    this.image = image
    this.replicas = new ReplicaManager(env, {
      nodeId: 1,
      logs,
      folder: '/data',
      configOf: (topic, at) => topicConfigSource(at, { brokerId: 1, staticValues: new Map() }, topic),
      events: {
        onLead: (topicPartition, log) => {
          this.led.set(partitionName(topicPartition), log)
          this.heard.push(`lead ${partitionName(topicPartition)} epoch=${log.leaderEpoch}`)
        },
        onResign: (topicPartition, epoch) => this.heard.push(`resign ${partitionName(topicPartition)} epoch=${epoch}`),
        onOffline: (topicPartition, error) => this.heard.push(`offline ${partitionName(topicPartition)} ${error.name}`),
      },
      ...options,
    })
  }

  /** Opens /data, under the image that an earlier life of the node had, if there was one. */
  static async start(
    env: Env,
    {
      image = firstImage(),
      storage = {},
      ...options
    }: { image?: MetadataImage; storage?: Partial<LogManagerOptions> } & Partial<ReplicaOptions> = {},
  ): Promise<ReplicaNode> {
    const logs = await LogManager.open(env, { folder: '/data', nodeId: 1, clusterId: 'test-cluster', ...storage })
    const node = new ReplicaNode(env, logs, image, options)
    await node.replicas.start(image)
    return node
  }

  async stop(): Promise<void> {
    await this.replicas.stop()
    await this.logs.close()
  }

  async apply(...records: MetadataRecord[]): Promise<void> {
    const { image, changes } = replay(this.image, records)
    this.image = image
    await this.replicas.applyImage(changes, image)
  }

  /** A topic led by this node; its id is made of `idByte`. */
  async createTopic(
    name: string,
    {
      partitions = 1,
      idByte = 7,
      configs = {},
      more = {},
    }: {
      partitions?: number
      idByte?: number
      configs?: Record<string, string>
      more?: Partial<PartitionRecord>
    } = {},
  ): Promise<void> {
    const id = topicIdOf(idByte)
    await this.apply(
      { type: 'Topic', value: { name, topicId: id } },
      ...Object.entries(configs).map(([key, value]) => configRecord(name, key, value)),
      ...Array.from({ length: partitions }, (_, index) => partitionRecord(id, index, more)),
    )
  }

  async deleteTopic(name: string): Promise<void> {
    await this.apply({ type: 'RemoveTopic', value: { topicId: this.image.topic(name)?.topicId as string } })
  }

  configure(topic: string, key: string, value: string): Promise<void> {
    return this.apply(configRecord(topic, key, value))
  }

  /** Another leader (or the same in a new epoch), or another ISR. */
  change(topic: string, change: { leader?: number; isr?: number[] }): Promise<void> {
    const topicId = this.image.topic(topic)?.topicId as string
    return this.apply(partitionChange({ partitionId: 0, topicId, ...change }))
  }

  context(version: number, clientId = 'test'): RequestContext {
    return {
      version,
      clientId,
      mayAccess: (topic) => !this.denied.has(topic),
      endpointOf: (nodeId) => ({ host: `host-${nodeId}`, port: 9092, rack: null }),
      abandoned: null,
      lent: [],
      heldBytes: 0,
    }
  }

  /** Produces one batch to partition 0 of `topic`. A promise also when the answer was there at once. */
  async produce(topic: string, batch: Buffer | null, options: ProduceOptions = {}): Promise<ProducedPartition> {
    const { acks = -1, timeoutMs = 30_000, version = 11, topicId = NO_TOPIC_ID, clientId = 'test' } = options
    const partitionData = [{ index: 0, records: batch === null ? null : [batch] }]
    const request = { transactionalId: null, acks, timeoutMs, topicData: [{ name: topic, topicId, partitionData }] }
    const answer = await this.replicas.produce(request, this.context(version, clientId))
    return answer.responses[0]?.partitionResponses[0] as ProducedPartition
  }

  /** Reads partition 0 of `topic` without a session. */
  async fetch(topic: string, options: FetchOptions = {}): Promise<FetchedPartition> {
    const { version = 12 } = options
    const answer = await this.replicas.fetch(fetchRequest([[topic, options]], options), this.context(version))
    return answer.responses[0]?.partitions[0] as FetchedPartition
  }
}

/** Of a client that may do everything. */
export function requestContext(version: number): RequestContext {
  return {
    version,
    clientId: 'test',
    mayAccess: () => true,
    endpointOf: () => null,
    abandoned: null,
    lent: [],
    heldBytes: 0,
  }
}

/** A full fetch of partition 0 of each topic; sessionless unless changed. */
export function fetchRequest(
  targets: readonly (readonly [string, FetchOptions])[],
  options: FetchOptions = {},
): FetchRequest {
  return {
    clusterId: null,
    replicaId: -1,
    replicaState: { replicaId: -1, replicaEpoch: -1 },
    maxWaitMs: options.maxWaitMs ?? 0,
    minBytes: options.minBytes ?? 1,
    maxBytes: options.maxBytes ?? 50 * 1024 * 1024,
    isolationLevel: options.readCommitted ? 1 : 0,
    sessionId: 0,
    sessionEpoch: -1,
    topics: targets.map(([topic, target]) => ({
      topic: target.topicId === undefined ? topic : '',
      topicId: target.topicId ?? NO_TOPIC_ID,
      partitions: [
        {
          partition: 0,
          currentLeaderEpoch: target.leaderEpoch ?? -1,
          fetchOffset: target.offset ?? 0,
          lastFetchedEpoch: target.lastFetchedEpoch ?? -1,
          logStartOffset: -1,
          partitionMaxBytes: target.partitionMaxBytes ?? 1024 * 1024,
          replicaDirectoryId: NO_TOPIC_ID,
          highWatermark: Number.MAX_SAFE_INTEGER,
          durableOffset: -1,
          writtenOffset: -1,
        },
      ],
    })),
    forgottenTopicsData: [],
    rackId: options.rack ?? '',
    wake: { sessionId: 0, sessionEpoch: 0 },
  }
}

/** A batch of these values, keyed by themselves. */
export function batchOf(values: readonly string[], more: Partial<BatchToBuild> = {}): Buffer {
  const records = values.map((value) => ({
    key: Buffer.from(value),
    value: Buffer.from(value),
    timestampMs: 1_767_225_600_000,
  }))
  return buildBatch({ records, ...more })
}

export function topicIdOf(byte: number): string {
  return Buffer.alloc(16, byte).toString('base64url')
}

function replay(before: MetadataImage, records: readonly MetadataRecord[]) {
  const delta = new MetadataDelta(before)
  for (const record of records) delta.replay(record)
  const offset = before.position.offset + records.length
  return { image: delta.apply({ offset, epoch: 1, timestampMs: 1000 + offset }), changes: delta.changes }
}

function configRecord(resourceName: string, name: string, value: string): MetadataRecord {
  return { type: 'Config', value: { resourceType: ResourceType.topic, resourceName, name, value } }
}

function partitionRecord(topicId: string, partitionId: number, more: Partial<PartitionRecord>): MetadataRecord {
  const value = {
    partitionId,
    topicId,
    replicas: [1],
    isr: [1],
    removingReplicas: [],
    addingReplicas: [],
    leader: 1,
    leaderRecoveryState: 0,
    leaderEpoch: 0,
    partitionEpoch: 0,
    directories: [],
    eligibleLeaderReplicas: null,
    lastKnownElr: null,
    ...more,
  }
  return { type: 'Partition', value }
}

/** Brokers 1 to 3 are registered and alive. */
function firstImage(): MetadataImage {
  const records = [1, 2, 3].map((brokerId): MetadataRecord => {
    const value = {
      brokerId,
      brokerEpoch: brokerId,
      isMigratingZkBroker: false,
      incarnationId: topicIdOf(100 + brokerId),
      endPoints: [],
      features: [],
      rack: null,
      fenced: false,
      inControlledShutdown: false,
      logDirs: [],
      cordonedLogDirs: null,
      outOfSpace: 0,
    }
    return { type: 'RegisterBroker', value }
  })
  return replay(MetadataImage.empty, records).image
}

import { NO_TOPIC_ID, type TopicId, type TopicPartition } from '../model/ids.ts'
import { CreatePartitions } from '../protocol/apis/create-partitions.ts'
import { CreateTopics } from '../protocol/apis/create-topics.ts'
import { DeleteRecords } from '../protocol/apis/delete-records.ts'
import { DeleteTopics } from '../protocol/apis/delete-topics.ts'
import { DescribeCluster } from '../protocol/apis/describe-cluster.ts'
import { DescribeConfigs } from '../protocol/apis/describe-configs.ts'
import { DescribeLogDirs } from '../protocol/apis/describe-log-dirs.ts'
import { IncrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { AnyApi, RequestInput, ResponseOf } from '../protocol/schema.ts'
import { type Client, check } from './client.ts'
import { ClusterAdmin } from './cluster-admin.ts'
import { BrokerError, ConnectionError, TimeoutError } from '../rpc/errors.ts'
import { GroupAdmin } from './group-admin.ts'
import { type ListedOffset, listOffsets, type OffsetAt } from './list-offsets.ts'
import type { BrokerInfo, TopicInfo } from './metadata.ts'
import { byTopic, PartitionMap } from './topic-partitions.ts'

export interface NewTopic {
  readonly name: string
  /** The server's default when left out, like the replication factor. */
  readonly partitions?: number
  readonly replicationFactor?: number
  /** Node ids for each partition, instead of the two numbers. */
  readonly assignments?: readonly (readonly number[])[]
  readonly configs?: Readonly<Record<string, string>>
}

/** One item of a call that names several. `error` is null when it was done. */
export interface ItemResult {
  readonly name: string
  readonly error: BrokerError | null
}

export interface CreatedTopic extends ItemResult {
  readonly topicId: TopicId
  /** -1 when the server does not say. */
  readonly partitions: number
  readonly replicationFactor: number
  /** What its creator should know, although it was created: that copies share a host, say. */
  readonly note: string | null
}

export type ConfigResourceKind = 'topic' | 'broker' | 'broker-logger' | 'client-metrics' | 'group'

export interface ConfigResource {
  readonly kind: ConfigResourceKind
  /** A broker by its number; empty: the default of all brokers. */
  readonly name: string
}

export interface ConfigEntry {
  readonly name: string
  /** Null when it is secret. */
  readonly value: string | null
  readonly source: ConfigSource
  readonly isReadOnly: boolean
  readonly isSensitive: boolean
  readonly documentation: string | null
  /** All that is set for it, under its names in each layer, strongest first; its default is the last. */
  readonly synonyms: readonly { readonly name: string; readonly value: string | null; readonly source: ConfigSource }[]
}

export type ConfigSource =
  | 'unknown'
  | 'topic'
  | 'dynamic-broker'
  | 'dynamic-default-broker'
  | 'static-broker'
  | 'default'
  | 'broker-logger'
  | 'client-metrics'
  | 'group'

export interface ConfigChange {
  readonly name: string
  readonly operation: 'set' | 'delete' | 'append' | 'subtract'
  readonly value?: string | null
}

export interface ClusterDescription {
  readonly clusterId: string
  readonly controllerId: number
  /** `isFull`: its disk takes no records of clients; only a Millrace node tells. */
  readonly brokers: readonly (BrokerInfo & { readonly isFenced: boolean; readonly isFull: boolean })[]
}

export interface LogDirDescription {
  readonly nodeId: number
  readonly path: string
  readonly error: BrokerError | null
  readonly totalBytes: number
  readonly usableBytes: number
  /** Directories of partitions that nobody knows or that were damaged; when the oldest is removed, wall clock, -1: never. */
  readonly setAside: { readonly count: number; readonly bytes: number; readonly untilMs: number }
  readonly replicas: readonly (TopicPartition & { readonly bytes: number; readonly offsetLag: number })[]
}

const RESOURCE_TYPES: Readonly<Record<ConfigResourceKind, number>> = {
  topic: 2,
  broker: 4,
  'broker-logger': 8,
  'client-metrics': 16,
  group: 32,
}
const OPERATIONS = { set: 0, delete: 1, append: 2, subtract: 3 }
const SOURCES: readonly ConfigSource[] = [
  'unknown',
  'topic',
  'dynamic-broker',
  'dynamic-default-broker',
  'static-broker',
  'default',
  'broker-logger',
  'client-metrics',
  'group',
]

/** What controllers are given to decide. */
const DECISION_TIMEOUT_MS = 30_000

/**
 * Looks after topics, configs, groups and the cluster. Reads are tried again until they work; what changes something is
 * sent once, since an answer that got lost leaves open whether it was done. Everything rejects with a `ClientError`.
 */
export class Admin {
  readonly #client: Client
  readonly groups: GroupAdmin
  readonly cluster: ClusterAdmin

  constructor(client: Client) {
    this.#client = client
    this.groups = new GroupAdmin(client)
    this.cluster = new ClusterAdmin(client)
  }

  async createTopics(topics: readonly NewTopic[], { validateOnly = false } = {}): Promise<CreatedTopic[]> {
    const response = await this.#change(CreateTopics, {
      topics: topics.map(({ name, partitions = -1, replicationFactor = -1, assignments = [], configs = {} }) => ({
        name,
        numPartitions: partitions,
        replicationFactor,
        assignments: assignments.map((brokerIds, partitionIndex) => ({ partitionIndex, brokerIds })),
        configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
      })),
      timeoutMs: DECISION_TIMEOUT_MS,
      validateOnly,
    })
    return response.topics.map((topic) => ({
      ...itemOf(topic.name, topic, `create topic ${topic.name}`),
      topicId: topic.topicId as TopicId,
      note: topic.note,
      partitions: topic.numPartitions,
      replicationFactor: topic.replicationFactor,
    }))
  }

  async deleteTopics(names: readonly string[]): Promise<ItemResult[]> {
    const response = await this.#change(DeleteTopics, (version) => ({
      ...(version >= 6 ? { topics: names.map((name) => ({ name, topicId: NO_TOPIC_ID })) } : { topicNames: names }),
      timeoutMs: DECISION_TIMEOUT_MS,
    }))
    for (const name of names) this.#client.view.topics.delete(name)
    return response.responses.map((result) => itemOf(result.name ?? '', result, `delete topic ${result.name}`))
  }

  /** `partitions` is the new total of each topic. */
  async createPartitions(
    topics: readonly {
      readonly name: string
      readonly partitions: number
      /** Node ids for each new partition; the controller's choice when left out. */
      readonly assignments?: readonly (readonly number[])[]
    }[],
    { validateOnly = false } = {},
  ): Promise<ItemResult[]> {
    const response = await this.#change(CreatePartitions, {
      topics: topics.map(({ name, partitions, assignments }) => ({
        name,
        count: partitions,
        assignments: assignments?.map((brokerIds) => ({ brokerIds })) ?? null,
      })),
      timeoutMs: DECISION_TIMEOUT_MS,
      validateOnly,
    })
    this.#client.forget()
    return response.results.map((result) => itemOf(result.name, result, `partitions of ${result.name}`))
  }

  /** All topics that may be seen, with their partitions. */
  async listTopics({ internal = false } = {}): Promise<TopicInfo[]> {
    const topics = await this.#client.retry('list of topics', () => this.#client.refreshAll())
    return topics.filter(({ isInternal }) => internal || !isInternal)
  }

  /** Rejects with a `BrokerError` when one of them does not exist. */
  async describeTopics(names: readonly string[]): Promise<TopicInfo[]> {
    return this.#client.retry('describe topics', async () => {
      await this.#client.refresh(names)
      return names.map((name) => {
        const info = this.#client.view.topics.get(name)
        // A topic that was just created may not have come round to the server that was asked.
        if (info === undefined) throw new MissingTopicError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, `topic ${name}`)
        return info
      })
    })
  }

  async describeConfigs(
    resources: readonly ConfigResource[],
  ): Promise<(ConfigResource & { configs: ConfigEntry[] })[]> {
    return Promise.all(resources.map((resource) => this.#describeConfig(resource)))
  }

  async #describeConfig(resource: ConfigResource): Promise<ConfigResource & { configs: ConfigEntry[] }> {
    const { kind, name } = resource
    const response = await this.#client.retry(`configs of ${kind} ${name}`, () =>
      this.#client.request(configTarget(resource), DescribeConfigs, (version) => ({
        resources: [{ resourceType: RESOURCE_TYPES[kind], resourceName: name, configurationKeys: null }],
        includeSynonyms: true,
        ...(version >= 3 ? { includeDocumentation: true } : {}),
      })),
    )
    const [result] = response.results
    if (result !== undefined) check(result.errorCode, `configs of ${kind} ${name}`, result.errorMessage)
    const configs = (result?.configs ?? []).map((config) => ({
      name: config.name,
      value: config.value,
      source: sourceOf(config.configSource),
      synonyms: config.synonyms.map(({ source, ...each }) => ({ ...each, source: sourceOf(source) })),
      isReadOnly: config.readOnly,
      isSensitive: config.isSensitive,
      documentation: config.documentation,
    }))
    return { kind, name, configs }
  }

  async alterConfigs(
    resource: ConfigResource,
    changes: readonly ConfigChange[],
    { validateOnly = false } = {},
  ): Promise<void> {
    const { kind, name } = resource
    const body = {
      resources: [
        {
          resourceType: RESOURCE_TYPES[kind],
          resourceName: name,
          configs: changes.map(({ name: key, operation, value = null }) => ({
            name: key,
            configOperation: OPERATIONS[operation],
            value,
          })),
        },
      ],
      validateOnly,
    }
    const connection = await this.#client.connection(configTarget(resource))
    const response = await connection.request(IncrementalAlterConfigs, body)
    for (const result of response.responses) check(result.errorCode, `configs of ${kind} ${name}`, result.errorMessage)
  }

  /** Removes what is before these offsets (-1: everything). Returns where the partitions begin now. */
  async deleteRecords(
    before: readonly (TopicPartition & { readonly offset: number })[],
  ): Promise<PartitionMap<{ readonly startOffset: number; readonly error: BrokerError | null }>> {
    const results = new PartitionMap<{ startOffset: number; error: BrokerError | null }>()
    const leaders = await this.#leadersOf(before)
    await Promise.all(
      [...leaders].map(async ([nodeId, items]) => {
        const topics = byTopic(items).map(([name, partitions]) => ({
          name,
          partitions: partitions.map(({ partition, offset }) => ({ partitionIndex: partition, offset })),
        }))
        const response = await this.#client.request(nodeId, DeleteRecords, { topics, timeoutMs: DECISION_TIMEOUT_MS })
        for (const { name, partitions } of response.topics) {
          for (const { partitionIndex, lowWatermark, errorCode } of partitions) {
            const error = errorOf(errorCode, `records of ${name}-${partitionIndex}`)
            results.set({ topic: name, partition: partitionIndex }, { startOffset: lowWatermark, error })
          }
        }
      }),
    )
    return results
  }

  async #leadersOf<T extends TopicPartition>(partitions: readonly T[]): Promise<Map<number, T[]>> {
    return this.#client.retry('leaders', async () => {
      const byNode = new Map<number, T[]>()
      for (const item of partitions) {
        const { nodeId } = await this.#client.leaderOf(item.topic, item.partition)
        byNode.set(nodeId, [...(byNode.get(nodeId) ?? []), item])
      }
      return byNode
    })
  }

  listOffsets(
    wanted: readonly (TopicPartition & { readonly at: OffsetAt })[],
    options: { readonly readCommitted?: boolean } = {},
  ): Promise<PartitionMap<ListedOffset>> {
    return listOffsets(this.#client, wanted, options)
  }

  async describeCluster(): Promise<ClusterDescription> {
    return this.#client.retry('description of the cluster', async () => {
      const response = await this.#client.request('any', DescribeCluster, (version) => ({
        includeClusterAuthorizedOperations: false,
        ...(version >= 2 ? { includeFencedBrokers: true } : {}),
      }))
      check(response.errorCode, 'description of the cluster', response.errorMessage)
      const brokers = response.brokers.map(({ brokerId: nodeId, host, port, rack, isFenced, outOfSpace }) => ({
        nodeId,
        host,
        port,
        rack,
        isFenced,
        isFull: outOfSpace > 0,
      }))
      return { clusterId: response.clusterId, controllerId: response.controllerId, brokers }
    })
  }

  async #aliveNodes(): Promise<number[]> {
    const { brokers } = await this.describeCluster()
    return brokers.filter(({ isFenced }) => !isFenced).map(({ nodeId }) => nodeId)
  }

  /**
   * The data folders of these nodes, with the replicas in them. Left out: those of all nodes that answer; one that has just died is
   * known to be dead only after a while, and keeps nobody from what the others say.
   */
  async describeLogDirs(nodeIds?: readonly number[]): Promise<LogDirDescription[]> {
    const nodes = nodeIds ?? (await this.#aliveNodes())
    await this.#client.retry('the brokers', () => this.#client.refresh())
    const answers = await Promise.all(
      nodes.map(async (nodeId) => {
        const answer = this.#client.request(nodeId, DescribeLogDirs, { topics: null })
        return nodeIds === undefined ? answer.catch(nullIfUnreachable) : answer
      }),
    )
    return answers.flatMap((response, index) => {
      if (response === null) return []
      check(response.errorCode, `data folders of node ${nodes[index]}`)
      return response.results.map((dir) => ({
        nodeId: nodes[index] as number,
        path: dir.logDir,
        error: errorOf(dir.errorCode, dir.logDir),
        totalBytes: dir.totalBytes,
        usableBytes: dir.usableBytes,
        setAside: { count: dir.strayCount, bytes: dir.strayBytes, untilMs: dir.strayUntilMs },
        replicas: dir.topics.flatMap(({ name, partitions }) =>
          partitions.map(({ partitionIndex, partitionSize, offsetLag }) => ({
            topic: name,
            partition: partitionIndex,
            bytes: partitionSize,
            offsetLag,
          })),
        ),
      }))
    })
  }

  /** Connecting is tried again; the request is not. */
  async #change<A extends AnyApi>(
    api: A,
    body: RequestInput<A> | ((version: number) => RequestInput<A>),
  ): Promise<ResponseOf<A>> {
    const connection = await this.#client.retry(api.name, () => this.#client.connection('any'))
    return connection.request(api, body, { timeoutMs: DECISION_TIMEOUT_MS + this.#client.options.requestTimeoutMs })
  }
}

/** The code is retriable in general, but a topic that is not there is an answer, not a failure to get one. */
class MissingTopicError extends BrokerError {
  override readonly retriable = false
}

function itemOf(
  name: string,
  { errorCode, errorMessage }: { readonly errorCode: number; readonly errorMessage: string | null },
  what: string,
): ItemResult {
  return { name, error: errorOf(errorCode, what, errorMessage) }
}

export function errorOf(errorCode: number, what: string, message: string | null = null): BrokerError | null {
  return errorCode === ErrorCode.NONE ? null : new BrokerError(errorCode, what, { message })
}

/** What a broker alone knows about itself is asked of that broker. */
function configTarget({ kind, name }: ConfigResource): number | 'any' {
  return (kind === 'broker' || kind === 'broker-logger') && name !== '' ? Number(name) : 'any'
}

function sourceOf(code: number): ConfigSource {
  return SOURCES[code] ?? 'unknown'
}

function nullIfUnreachable(error: unknown): null {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return null
  throw error
}

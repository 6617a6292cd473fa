import type { MetadataImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import { AlterPartition } from '../protocol/apis/alter-partition.ts'
import { AlterPartitionReassignments } from '../protocol/apis/alter-partition-reassignments.ts'
import { AssignReplicasToDirs } from '../protocol/apis/assign-replicas-to-dirs.ts'
import { BrokerHeartbeat } from '../protocol/apis/broker-heartbeat.ts'
import { BrokerRegistration } from '../protocol/apis/broker-registration.ts'
import { CreatePartitions } from '../protocol/apis/create-partitions.ts'
import { CreateTopics } from '../protocol/apis/create-topics.ts'
import { ElectLeaders } from '../protocol/apis/elect-leaders.ts'
import { IncrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import { ListPartitionReassignments } from '../protocol/apis/list-partition-reassignments.ts'
import { UnregisterBroker } from '../protocol/apis/unregister-broker.ts'
import { errorName } from '../protocol/errors.ts'
import type { AnyApi, RequestOf, ResponseOf } from '../protocol/schema.ts'
import type { Command } from './datadriven.ts'
import { LOST_DIRECTORY, ScenarioNames } from './scenario-names.ts'

/** A controller that a scenario can be played on: ours in this process, or an Apache Kafka's. */
export interface ControllerPort {
  readonly clusterId: string
  ask<A extends AnyApi>(api: A, request: RequestOf<A>, version?: number): Promise<ResponseOf<A>>
  /** Of everything that it has decided. */
  image(): Promise<MetadataImage>
  /** Some time passes. */
  pass(ms: number): Promise<void>
}

/** What the controllers of scenarios are started with. */
export const SCENARIO_SESSION_MS = 5000

const TIMEOUT_MS = 10_000
const FEATURES = [
  ['metadata.version', 7, 33],
  ['kraft.version', 0, 1],
  ['eligible.leader.replicas.version', 0, 1],
  ['group.version', 0, 1],
  ['transaction.version', 0, 2],
  ['share.version', 0, 2],
  ['streams.version', 0, 1],
] as const

/**
 * Plays the lines of a scenario: brokers that are nothing but their requests register, beat and lead. Each line answers
 * with the error, and with every partition that it changed. `offset` keeps scenarios on one controller apart.
 */
export class ControllerScenario {
  readonly #port: ControllerPort
  readonly #names: ScenarioNames
  #before: MetadataImage | null = null
  #incarnations = 0

  constructor(port: ControllerPort, offset: number) {
    this.#port = port
    this.#names = new ScenarioNames(offset)
  }

  async run(command: Command): Promise<string> {
    this.#before ??= await this.#port.image()
    const answer = await this.#perform(command)
    const after = await this.#port.image()
    const changed = this.#names.changes(this.#before, after)
    this.#before = after
    return [answer, ...changed].join('\n')
  }

  #perform(command: Command): Promise<string> {
    switch (command.name) {
      case 'register':
        return this.#register(command)
      case 'beat':
        return this.#beat(command)
      case 'silence':
        return this.#silence(command)
      case 'create':
        return this.#create(command)
      case 'grow':
        return this.#grow(command)
      case 'config':
        return this.#config(command)
      case 'alter':
        return this.#alter(command)
      case 'reassign':
        return this.#reassign(command)
      case 'list':
        return this.#list(command)
      case 'elect':
        return this.#elect(command)
      case 'assign':
        return this.#assign(command)
      case 'unregister':
        return this.#unregister(command)
      default:
        throw new Error(`unknown command ${command.name}`)
    }
  }

  async #epochOf(brokerId: number): Promise<number> {
    return (await this.#port.image()).broker(brokerId)?.brokerEpoch ?? -1
  }

  async #register(command: Command): Promise<string> {
    const brokerId = this.#names.id(command.words[0])
    const logDirs = command.numbers('dirs', [Number(command.words[0])]).map((n) => this.#names.directory(n))
    const { errorCode } = await this.#port.ask(BrokerRegistration, {
      brokerId,
      clusterId: this.#port.clusterId,
      incarnationId: this.#names.fresh(2, ++this.#incarnations),
      listeners: [{ name: 'PLAINTEXT', host: `host-${brokerId}`, port: 9092, securityProtocol: 0 }],
      features: FEATURES.map(([name, minSupportedVersion, maxSupportedVersion]) => {
        return { name, minSupportedVersion, maxSupportedVersion }
      }),
      rack: null,
      isMigratingZkBroker: false,
      logDirs,
      previousBrokerEpoch: command.words.includes('clean') ? await this.#epochOf(brokerId) : -1,
      ownIncarnations: [],
    })
    return errorName(errorCode)
  }

  async #beat({ words }: Command): Promise<string> {
    const brokerId = this.#names.id(words[0])
    const image = await this.#port.image()
    const brokerEpoch = image.broker(brokerId)?.brokerEpoch ?? -1
    const directories = (flag: string) =>
      words
        .filter((word) => word.startsWith(flag))
        .map((word) => this.#names.directory(Number(word.slice(flag.length))))
    const response = await this.#port.ask(BrokerHeartbeat, {
      brokerId,
      brokerEpoch: words.includes('stale') ? brokerEpoch - 1 : brokerEpoch,
      currentMetadataOffset: words.includes('behind') ? brokerEpoch - 1 : image.position.offset,
      wantFence: words.includes('fence'),
      wantShutDown: words.includes('stop'),
      offlineLogDirs: directories('offline:'),
      cordonedLogDirs: null,
      outOfSpace: -1,
    })
    if (response.errorCode !== 0) return errorName(response.errorCode)
    const { isCaughtUp, isFenced, shouldShutDown } = response
    return `caughtUp=${isCaughtUp} fenced=${isFenced} stop=${shouldShutDown}`
  }

  /** The broker is not heard until its session is over; the others go on as they are. */
  async #silence({ words }: Command): Promise<string> {
    const silent = this.#names.id(words[0])
    for (let waitedMs = 0; waitedMs < 1.3 * SCENARIO_SESSION_MS; waitedMs += 250) {
      await this.#port.pass(250)
      const image = await this.#port.image()
      for (const { brokerId, brokerEpoch, fenced } of image.brokers.values()) {
        if (!this.#names.isOwn(brokerId) || brokerId === silent || fenced) continue
        await this.#port.ask(BrokerHeartbeat, {
          brokerId,
          brokerEpoch,
          currentMetadataOffset: image.position.offset,
          wantFence: false,
          wantShutDown: false,
          offlineLogDirs: [],
          cordonedLogDirs: null,
          outOfSpace: -1,
        })
      }
    }
    return 'silent'
  }

  async #create(command: Command): Promise<string> {
    const name = this.#names.topic(command.words[0])
    const assignments = command
      .text('replicas')
      .split(';')
      .map((list, partitionIndex) => ({ partitionIndex, brokerIds: list.split(',').map((id) => this.#names.id(id)) }))
    const configs = command.words.slice(1).map((word) => {
      const [key = '', value = ''] = word.split(':')
      return { name: key, value }
    })
    const topic = { name, numPartitions: -1, replicationFactor: -1, assignments, configs }
    const response = await this.#port.ask(CreateTopics, { topics: [topic], timeoutMs: TIMEOUT_MS, validateOnly: false })
    return errorName(response.topics[0]?.errorCode ?? -1)
  }

  async #grow(command: Command): Promise<string> {
    const assignments = command
      .text('replicas')
      .split(';')
      .map((list) => ({ brokerIds: list.split(',').map((id) => this.#names.id(id)) }))
    const topic = { name: this.#names.topic(command.words[0]), count: command.number('to'), assignments }
    const request = { topics: [topic], timeoutMs: TIMEOUT_MS, validateOnly: false }
    const { results } = await this.#port.ask(CreatePartitions, request)
    return errorName(results[0]?.errorCode ?? -1)
  }

  /** `config orders min.insync.replicas:1`; without a value the key goes; without a topic it is the cluster's. */
  async #config({ words }: Command): Promise<string> {
    const setting = words.at(-1) ?? ''
    const [name = '', value = ''] = setting.split(':')
    const resource =
      words.length > 1
        ? { resourceType: ResourceType.topic, resourceName: this.#names.topic(words[0]) }
        : { resourceType: ResourceType.broker, resourceName: '' }
    const configs = [{ name, configOperation: value === '' ? 1 : 0, value: value === '' ? null : value }]
    const { responses } = await this.#port.ask(IncrementalAlterConfigs, {
      resources: [{ ...resource, configs }],
      validateOnly: false,
    })
    return errorName(responses[0]?.errorCode ?? -1)
  }

  async #alter(command: Command): Promise<string> {
    const { topic, partition } = this.#names.partition(command.words[0])
    const image = await this.#port.image()
    const found = image.topic(topic)
    const now = found?.partitions[partition]
    const version = command.number('v', 3)
    const isr = command.numbers('isr').map((n) => this.#names.id(n))
    const brokerId = command.has('from') ? this.#names.id(command.number('from')) : (now?.leader ?? -1)
    const stale = command.numbers('stale', []).map((n) => this.#names.id(n))
    const epochOf = (id: number) => (image.broker(id)?.brokerEpoch ?? -1) - (stale.includes(id) ? 1 : 0)
    const wanted = {
      partitionIndex: partition,
      leaderEpoch: (now?.leaderEpoch ?? 0) + command.number('leader-epoch', 0),
      partitionEpoch: (now?.partitionEpoch ?? 0) + command.number('partition-epoch', 0),
      leaderRecoveryState: command.number('recovery', 0),
      newIsr: version < 3 ? isr : [],
      newIsrWithEpochs: version < 3 ? [] : isr.map((id) => ({ brokerId: id, brokerEpoch: epochOf(id) })),
    }
    const request = {
      brokerId,
      brokerEpoch: epochOf(brokerId),
      topics: [{ topicId: found?.topicId ?? this.#names.directory(99), partitions: [wanted] }],
    }
    const response = await this.#port.ask(AlterPartition, request, version)
    const result = response.topics[0]?.partitions[0]
    if (result === undefined) return errorName(response.errorCode)
    if (result.errorCode !== 0) return errorName(result.errorCode)
    const { leaderId, leaderEpoch, partitionEpoch } = result
    const [leader, members] = [this.#names.list([leaderId]), this.#names.list(result.isr)]
    const recovery = result.leaderRecoveryState
    return `NONE leader=${leader} isr=${members} epoch=${leaderEpoch}/${partitionEpoch} recovery=${recovery}`
  }

  async #reassign(command: Command): Promise<string> {
    const { topic, partition } = this.#names.partition(command.words[0])
    const isCancel = command.words.includes('cancel')
    const replicas = isCancel ? null : command.numbers('to').map((n) => this.#names.id(n))
    const { responses } = await this.#port.ask(AlterPartitionReassignments, {
      timeoutMs: TIMEOUT_MS,
      allowReplicationFactorChange: !command.words.includes('strict'),
      topics: [{ name: topic, partitions: [{ partitionIndex: partition, replicas }] }],
    })
    const { errorCode = -1, errorMessage = null } = responses[0]?.partitions[0] ?? {}
    return errorCode === 0 ? 'NONE' : `${errorName(errorCode)}: ${this.#names.plain(errorMessage ?? '')}`
  }

  async #list({ words }: Command): Promise<string> {
    const topics = words.map((name) => ({ name: this.#names.topic(name), partitionIndexes: [0, 1, 2] }))
    const response = await this.#port.ask(ListPartitionReassignments, { timeoutMs: TIMEOUT_MS, topics })
    const moving = response.topics.flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex, replicas, addingReplicas, removingReplicas }) => {
        const lists = [replicas, addingReplicas, removingReplicas].map((ids) => this.#names.list(ids))
        return `${this.#names.plain(name)}-${partitionIndex} replicas=${lists[0]} adding=${lists[1]} removing=${lists[2]}`
      }),
    )
    return [errorName(response.errorCode), ...moving].join('\n')
  }

  async #elect({ words }: Command): Promise<string> {
    const { topic, partition } = this.#names.partition(words[1])
    const { errorCode, replicaElectionResults } = await this.#port.ask(ElectLeaders, {
      electionType: words[0] === 'unclean' ? 1 : 0,
      topicPartitions: [{ topic, partitions: [partition] }],
      timeoutMs: TIMEOUT_MS,
    })
    return errorName(replicaElectionResults[0]?.partitionResult[0]?.errorCode ?? errorCode)
  }

  async #assign(command: Command): Promise<string> {
    const [broker, ...partitions] = command.words
    const image = await this.#port.image()
    const brokerId = this.#names.id(broker)
    const topics = partitions.map((text) => {
      const { topic, partition } = this.#names.partition(text)
      const topicId = image.topic(topic)?.topicId ?? this.#names.directory(99)
      return { topicId, partitions: [{ isDamaged: false, partitionIndex: partition }] }
    })
    const dir = command.text('dir')
    const id = dir === 'lost' ? LOST_DIRECTORY : this.#names.directory(Number(dir))
    const brokerEpoch = image.broker(brokerId)?.brokerEpoch ?? -1
    const response = await this.#port.ask(AssignReplicasToDirs, {
      brokerId,
      brokerEpoch,
      directories: [{ id, topics }],
    })
    const codes = response.directories.flatMap((each) => each.topics.flatMap((topic) => topic.partitions))
    return codes.length === 0
      ? errorName(response.errorCode)
      : codes.map(({ errorCode }) => errorName(errorCode)).join()
  }

  async #unregister({ words }: Command): Promise<string> {
    const { errorCode } = await this.#port.ask(UnregisterBroker, { brokerId: this.#names.id(words[0]) })
    return errorName(errorCode)
  }
}

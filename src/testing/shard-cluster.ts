import { assert } from '../base/assert.ts'
import { ControllerShard } from '../controller/shard.ts'
import type { ControllerApi } from '../controller/shard.ts'
import { bootstrapRecords, registeredFeatures } from '../controller/features.ts'
import { ELR_FEATURE } from '../controller/feature-names.ts'
import type { Due, Notice } from '../controller/decision.ts'
import { MetadataImage } from '../metadata/image.ts'
import { type MetadataRecord, ResourceType } from '../metadata/records.ts'
import { AlterPartition } from '../protocol/apis/alter-partition.ts'
import { BrokerHeartbeat } from '../protocol/apis/broker-heartbeat.ts'
import { BrokerRegistration } from '../protocol/apis/broker-registration.ts'
import { CreateTopics, type CreateTopicsResponse } from '../protocol/apis/create-topics.ts'
import { IncrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'

export interface TestBroker {
  readonly id: number
  readonly zone?: string
  readonly host?: string
  readonly port?: number
  /** As another disk would have. */
  readonly directory?: string
  /** Instead of one. */
  readonly directories?: readonly string[]
  /** Of a clean stop before. */
  readonly previousBrokerEpoch?: number
  /** Those that ran on the same folder; the one that is registered, unless told otherwise. */
  readonly ownIncarnations?: readonly string[]
  /** An Apache Kafka broker, which counts its page cache. */
  readonly isKafka?: boolean
}

export const TEST_CLUSTER_ID = 'AQAAAAAAAAAAAAAAAAAAAA'

/** A controller shard whose decisions take effect at once, with a clock that is set by hand. */
export class ShardCluster {
  readonly shard: ControllerShard
  /** Everything that was decided, in order. */
  readonly log: MetadataRecord[] = []
  readonly notices: Notice[] = []
  nowMs = 0
  #ids = 0

  constructor(staticValues: ReadonlyMap<string, string> = new Map(), eligibleReplicas = true) {
    const options = { clusterId: TEST_CLUSTER_ID, broker: { brokerId: 1, staticValues }, newId: () => this.id(1) }
    this.shard = new ControllerShard(options, MetadataImage.empty, 0)
    this.#apply(bootstrapRecords())
    if (!eligibleReplicas) this.#apply([{ type: 'FeatureLevel', value: { name: ELR_FEATURE, featureLevel: 0 } }])
  }

  get image(): MetadataImage {
    return this.shard.image
  }

  /** A fresh id; those of different kinds never meet. */
  id(kind: number): string {
    const bytes = Buffer.alloc(16, kind)
    bytes.writeUInt32BE(++this.#ids, 12)
    return bytes.toString('base64url')
  }

  /** Decides, applies, answers. */
  ask<A extends ControllerApi>(api: A, request: RequestOf<A>, version: number = api.versions[1]): ResponseOf<A> {
    const moment = { version, nowMs: this.nowMs, nextOffset: this.log.length }
    const { records, response, notices = [] } = this.shard.handle(api, request, moment)
    this.#take({ records, notices })
    return response
  }

  #take({ records, notices }: Due): void {
    this.notices.push(...notices)
    if (records.length > 0) this.#apply(records)
  }

  #apply(records: readonly MetadataRecord[]): void {
    this.log.push(...records)
    this.shard.apply(records, { offset: this.log.length - 1, epoch: 1, timestampMs: this.nowMs })
  }

  /** Lets time pass, in which silent brokers are looked for as the driver does. */
  pass(ms: number): void {
    const end = this.nowMs + ms
    while (this.nowMs < end) {
      this.nowMs = Math.min(end, this.nowMs + 300)
      this.check()
    }
  }

  /** Does what is due: fences silent brokers, balances leaderships. */
  check(): void {
    for (let due = this.shard.tick(this.nowMs); due.records.length > 0; due = this.shard.tick(this.nowMs)) {
      this.#take(due)
    }
  }

  /** As the leader asks when it has seen these in sync; all replicas when not given. */
  alterIsr(name: string, partitionIndex: number, isr?: readonly number[]): ResponseOf<typeof AlterPartition> {
    const topic = this.image.topic(name)
    const partition = topic?.partitions[partitionIndex]
    assert(topic !== undefined && partition !== undefined, `no partition ${name}-${partitionIndex}`)
    const { leader: brokerId, leaderEpoch, partitionEpoch, replicas } = partition
    const newIsrWithEpochs = (isr ?? replicas).map((id) => ({ brokerId: id, brokerEpoch: -1 }))
    const wanted = { partitionIndex, leaderEpoch, partitionEpoch, leaderRecoveryState: 0, newIsr: [], newIsrWithEpochs }
    return this.ask(AlterPartition, {
      brokerId,
      brokerEpoch: this.image.broker(brokerId)?.brokerEpoch ?? -1,
      topics: [{ topicId: topic.topicId, partitions: [wanted] }],
    })
  }

  setConfig(topic: string, name: string, value: string | null): void {
    const configs = [{ name, configOperation: value === null ? 1 : 0, value }]
    const resources = [{ resourceType: ResourceType.topic, resourceName: topic, configs }]
    this.ask(IncrementalAlterConfigs, { resources, validateOnly: false })
  }

  /** Its process is found dead. */
  lose(brokerId: number, brokerEpoch = this.image.broker(brokerId)?.brokerEpoch ?? -1): void {
    this.#take(this.shard.brokerLost(brokerId, brokerEpoch))
  }

  register(broker: TestBroker, incarnationId = this.id(2)): ResponseOf<typeof BrokerRegistration> {
    const { id, zone, host, port = 9092, directory, previousBrokerEpoch = -1, isKafka = false } = broker
    const registered = this.image.broker(id)?.incarnationId
    const ownIncarnations = isKafka ? [] : (broker.ownIncarnations ?? (registered === undefined ? [] : [registered]))
    return this.ask(BrokerRegistration, {
      brokerId: id,
      clusterId: TEST_CLUSTER_ID,
      incarnationId,
      listeners: [{ name: 'PLAINTEXT', host: host ?? `host-${id}`, port, securityProtocol: 0 }],
      features: registeredFeatures(!isKafka),
      rack: zone ?? null,
      isMigratingZkBroker: false,
      logDirs: broker.directories ?? [directory ?? Buffer.alloc(16, id + 50).toString('base64url')],
      previousBrokerEpoch,
      ownIncarnations,
    })
  }

  beat(brokerId: number, more: Partial<RequestOf<typeof BrokerHeartbeat>> = {}): ResponseOf<typeof BrokerHeartbeat> {
    return this.ask(BrokerHeartbeat, {
      brokerId,
      brokerEpoch: this.image.broker(brokerId)?.brokerEpoch ?? -1,
      currentMetadataOffset: this.image.position.offset,
      wantFence: false,
      wantShutDown: false,
      offlineLogDirs: [],
      cordonedLogDirs: null,
      outOfSpace: -1,
      ...more,
    })
  }

  /** Registered and serving. */
  join(...brokers: readonly TestBroker[]): void {
    for (const broker of brokers) {
      this.register(broker)
      this.beat(broker.id)
    }
  }

  createTopic(
    name: string,
    more: Partial<RequestOf<typeof CreateTopics>['topics'][number]> = {},
  ): CreateTopicsResponse['topics'][number] | undefined {
    const topic = { name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [], ...more }
    return this.ask(CreateTopics, { topics: [topic], timeoutMs: 1000, validateOnly: false }).topics[0]
  }
}

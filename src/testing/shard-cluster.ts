import { ControllerShard } from '../controller/shard.ts'
import type { ControllerApi } from '../controller/shard.ts'
import { bootstrapRecords } from '../controller/features.ts'
import { MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import { BrokerHeartbeat } from '../protocol/apis/broker-heartbeat.ts'
import { BrokerRegistration } from '../protocol/apis/broker-registration.ts'
import { CreateTopics, type CreateTopicsResponse } from '../protocol/apis/create-topics.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'

export interface TestBroker {
  readonly id: number
  readonly zone?: string
  readonly host?: string
}

export const TEST_CLUSTER_ID = 'AQAAAAAAAAAAAAAAAAAAAA'

/** A controller shard whose decisions take effect at once, with a clock that is set by hand. */
export class ShardCluster {
  readonly shard: ControllerShard
  /** Everything that was decided, in order. */
  readonly log: MetadataRecord[] = []
  nowMs = 0
  #ids = 0

  constructor(staticValues: ReadonlyMap<string, string> = new Map()) {
    const options = { clusterId: TEST_CLUSTER_ID, broker: { brokerId: 1, staticValues }, newId: () => this.id(1) }
    this.shard = new ControllerShard(options, MetadataImage.empty, 0)
    this.#apply(bootstrapRecords())
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
    const { records, response } = this.shard.handle(api, request, moment)
    if (records.length > 0) this.#apply(records)
    return response
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

  /** Fences every broker that has been silent too long. */
  check(): void {
    for (let records = this.shard.expire(this.nowMs); records.length > 0; records = this.shard.expire(this.nowMs)) {
      this.#apply(records)
    }
  }

  register({ id, zone, host }: TestBroker, incarnationId = this.id(2)): ResponseOf<typeof BrokerRegistration> {
    return this.ask(BrokerRegistration, {
      brokerId: id,
      clusterId: TEST_CLUSTER_ID,
      incarnationId,
      listeners: [{ name: 'PLAINTEXT', host: host ?? `host-${id}`, port: 9092, securityProtocol: 0 }],
      features: [{ name: 'metadata.version', minSupportedVersion: 7, maxSupportedVersion: 33 }],
      rack: zone ?? null,
      isMigratingZkBroker: false,
      logDirs: [Buffer.alloc(16, id + 50).toString('base64url')],
      previousBrokerEpoch: -1,
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

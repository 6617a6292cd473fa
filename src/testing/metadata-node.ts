import { registeredFeatures } from '../controller/features.ts'
import type { BrokerContext } from '../controller/config-view.ts'
import type { Env } from '../env/env.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { BrokerHeartbeat } from '../protocol/apis/broker-heartbeat.ts'
import { BrokerRegistration } from '../protocol/apis/broker-registration.ts'
import { CreateTopics, type CreateTopicsResponse } from '../protocol/apis/create-topics.ts'
import { openQuorum } from '../quorum/open.ts'
import type { Quorum } from '../quorum/quorum.ts'
import { Peers } from '../rpc/peers.ts'
import { LogManager } from '../storage/log-manager.ts'

/** The metadata half of a node: a data folder, its quorum, and the node's own broker registered and serving. */
export class MetadataNode {
  readonly logs: LogManager
  readonly controller: Quorum
  readonly published: MetadataImage[]
  brokerEpoch = -1

  private constructor(logs: LogManager, controller: Quorum, published: MetadataImage[]) {
    this.logs = logs
    this.controller = controller
    this.published = published
  }

  static async start(
    env: Env,
    folder: string,
    options: {
      readonly staticValues?: ReadonlyMap<string, string>
      readonly clusterId?: string
      readonly controllerPort?: number
      readonly snapshotsAfter?: Promise<unknown>
      readonly onFailure?: (error: Error) => void
      readonly onImage?: (changes: MetadataChanges, image: MetadataImage) => void | Promise<void>
    } = {},
  ): Promise<MetadataNode> {
    const isNew = (await env.disk.stat(`${folder}/meta.properties`)) === null
    const clusterId = isNew ? (options.clusterId ?? 'AQAAAAAAAAAAAAAAAAAAAA') : null
    const logs = await LogManager.open(env, { folder, nodeId: 1, clusterId })
    const broker: BrokerContext = { brokerId: 1, staticValues: options.staticValues ?? new Map() }
    const published: MetadataImage[] = []
    try {
      const peers = new Peers(env.net, env.timers, { clientId: 'test', connectTimeoutMs: 1000, requestTimeoutMs: 1000 })
      const controller = await openQuorum(env, {
        logs,
        dataFolder: folder,
        broker,
        isController: true,
        listener: 'CONTROLLER',
        peers,
        join: [],
        autoJoin: false,
        ...(options.snapshotsAfter === undefined ? {} : { snapshotsAfter: options.snapshotsAfter }),
        endpoints: [{ name: 'CONTROLLER', host: '127.0.0.1', port: options.controllerPort ?? 9093 }],
        onImage: async (changes, image) => {
          await options.onImage?.(changes, image)
          published.push(image)
        },
        onFailure: options.onFailure ?? (() => {}),
      })
      const node = new MetadataNode(logs, controller, published)
      await node.#join(env)
      return node
    } catch (error) {
      await logs.close({ brokerEpoch: -1 })
      throw error
    }
  }

  async #join(env: Env): Promise<void> {
    const { clusterId, directoryId } = this.logs.metaProperties
    const { brokerEpoch } = await this.controller.handle(BrokerRegistration, {
      brokerId: 1,
      clusterId,
      incarnationId: env.randomBytes(16).toString('base64url'),
      listeners: [{ name: 'PLAINTEXT', host: '127.0.0.1', port: 9092, securityProtocol: 0 }],
      features: registeredFeatures(true),
      rack: null,
      isMigratingZkBroker: false,
      logDirs: [directoryId],
      previousBrokerEpoch: -1,
      ownIncarnations: [],
    })
    this.brokerEpoch = brokerEpoch
    await this.beat()
  }

  beat(): Promise<unknown> {
    return this.controller.handle(BrokerHeartbeat, {
      brokerId: 1,
      brokerEpoch: this.brokerEpoch,
      currentMetadataOffset: this.controller.image.position.offset,
      wantFence: false,
      wantShutDown: false,
      offlineLogDirs: [],
      cordonedLogDirs: null,
      outOfSpace: -1,
    })
  }

  createTopics(
    ...topics: readonly { readonly name: string; readonly partitions: number }[]
  ): Promise<CreateTopicsResponse> {
    return this.controller.handle(CreateTopics, {
      topics: topics.map(({ name, partitions }) => {
        return { name, numPartitions: partitions, replicationFactor: 1, assignments: [], configs: [] }
      }),
      timeoutMs: 1000,
      validateOnly: false,
    })
  }

  async stop(): Promise<void> {
    await this.controller.stop()
    await this.logs.close({ brokerEpoch: this.brokerEpoch })
  }
}

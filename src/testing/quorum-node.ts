import { registeredFeatures } from '../controller/features.ts'
import type { Env } from '../env/env.ts'
import type { Address } from '../env/net.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { BrokerRegistration } from '../protocol/apis/broker-registration.ts'
import { openQuorum } from '../quorum/open.ts'
import type { Quorum } from '../quorum/quorum.ts'
import { Peers } from '../rpc/peers.ts'
import { Acceptor } from '../server/connections/acceptor.ts'
import { DEFAULT_LIMITS } from '../server/connections/limits.ts'
import { Dispatcher } from '../server/dispatch/dispatcher.ts'
import { apiVersions } from '../server/handlers/api-versions.ts'
import { quorumApis } from '../server/handlers/quorum-apis.ts'
import { LogManager } from '../storage/log-manager.ts'

export const CONTROLLER_PORT = 9093
export const CLUSTER_ID = 'AQAAAAAAAAAAAAAAAAAAAA'

export interface QuorumNodeOptions {
  readonly nodeId: number
  readonly host: string
  readonly port?: number
  readonly folder?: string
  readonly join?: readonly Address[]
  readonly autoJoin?: boolean
  readonly isController?: boolean
  readonly clusterId?: string
  readonly staticValues?: ReadonlyMap<string, string>
  readonly onImage?: (changes: MetadataChanges, image: MetadataImage) => void
  readonly onFailure?: (error: Error) => void
}

/** A node of a quorum, and nothing else of a node: a data folder, and the listener on which its peers ask. */
export class QuorumNode {
  readonly logs: LogManager
  readonly quorum: Quorum
  readonly #acceptor: Acceptor
  readonly #peers: Peers

  private constructor(parts: { logs: LogManager; quorum: Quorum; acceptor: Acceptor; peers: Peers }) {
    this.logs = parts.logs
    this.quorum = parts.quorum
    this.#acceptor = parts.acceptor
    this.#peers = parts.peers
  }

  static async start(env: Env, options: QuorumNodeOptions): Promise<QuorumNode> {
    const { nodeId, host, port = CONTROLLER_PORT, clusterId = CLUSTER_ID, isController = true } = options
    const { folder = '/data' } = options
    const logs = await LogManager.open(env, { folder, nodeId, clusterId })
    const peers = new Peers(env.net, env.timers, { clientId: 'test', connectTimeoutMs: 1000, requestTimeoutMs: 1000 })
    let dispatcher: Dispatcher | null = null
    const onFailure =
      options.onFailure ??
      ((error) => {
        throw error
      })
    const acceptor = new Acceptor({
      env,
      limits: DEFAULT_LIMITS,
      dispatch: (connection, frame) => (dispatcher as Dispatcher).dispatch(connection, frame),
      serves: (apiKey) => (dispatcher as Dispatcher).serves(apiKey),
      endpointOf: () => null,
    })
    const bound = await acceptor.listen('CONTROLLER', { host, port })
    const quorum = await openQuorum(env, {
      logs,
      dataFolder: folder,
      broker: { brokerId: nodeId, staticValues: options.staticValues ?? new Map() },
      isController,
      listener: 'CONTROLLER',
      endpoints: isController ? [{ name: 'CONTROLLER', host, port: bound.port }] : [],
      peers,
      join: options.join ?? [],
      autoJoin: options.autoJoin ?? false,
      joinAfter: Promise.resolve(),
      onImage: options.onImage ?? (() => {}),
      onFailure,
    })
    const apis = quorumApis(quorum)
    const supported = [{ name: 'kraft.version', minVersion: 0, maxVersion: 1 }]
    apis.push(apiVersions({ clusterId, nodeId, apis, features: () => ({ supported, finalized: [], epoch: -1 }) }))
    dispatcher = new Dispatcher(apis, (error) => onFailure(error as Error))
    acceptor.open()
    return new QuorumNode({ logs, quorum, acceptor, peers })
  }

  /** Registers a broker that is not there: a record that can be looked for. Returns its epoch. */
  async register(env: Env, brokerId: number): Promise<number> {
    const { brokerEpoch } = await this.quorum.handle(BrokerRegistration, {
      brokerId,
      clusterId: this.logs.metaProperties.clusterId,
      incarnationId: env.randomBytes(16).toString('base64url'),
      listeners: [{ name: 'PLAINTEXT', host: '127.0.0.1', port: 9092, securityProtocol: 0 }],
      features: registeredFeatures(true),
      rack: null,
      isMigratingZkBroker: false,
      logDirs: [env.randomBytes(16).toString('base64url')],
      previousBrokerEpoch: -1,
      ownIncarnations: [],
    })
    return brokerEpoch
  }

  async stop(): Promise<void> {
    await this.quorum.stop()
    this.#acceptor.destroyAll()
    await this.#acceptor.stopListening()
    this.#peers.close()
    await this.logs.close({ brokerEpoch: -1 })
  }
}

import type { BrokerContext } from '../controller/config-view.ts'
import type { GroupCoordinator } from '../coordinator/group-coordinator.ts'
import type { Env } from '../env/env.ts'
import type { Address } from '../env/net.ts'
import { LogUnavailableError } from '../env/replicated-log.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import { MetadataImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import type { BrokerLifecycle } from '../quorum/broker-lifecycle.ts'
import { NotControllerError } from '../quorum/errors.ts'
import { openQuorum } from '../quorum/open.ts'
import type { Quorum } from '../quorum/quorum.ts'
import type { ReplicaManager } from '../replica/replica-manager.ts'
import { Peers } from '../rpc/peers.ts'
import type { LogManager } from '../storage/log-manager.ts'
import { BrokerEntry } from './broker-entry.ts'
import { BrokerHalf } from './broker-half.ts'
import type { Role } from './config/membership-config.ts'
import type { NodeConfig } from './config/node-config.ts'
import type { ConnectionLimits } from './connections/limits.ts'
import { takeDataFolder } from './data-folder.ts'
import { type DescriptorShares, shareDescriptors } from './descriptors.ts'
import { type BoundListener, Doors } from './doors.ts'
import { Endpoints } from './endpoints.ts'
import { BrokerWatch } from './forward/broker-watch.ts'
import { ControllerEntry } from './forward/controller-entry.ts'
import { ControllerLink } from './forward/controller-link.ts'
import { ControllerSide } from './forward/controller-side.ts'
import type { HealthReport } from './http/health.ts'
import type { HttpSource } from './http/http-routes.ts'
import { RememberedControllers } from './join/remembered-controllers.ts'
import { joinsByItself } from './join/membership.ts'
import { ImagePublisher } from './image-publisher.ts'
import { limitsUnder } from './live-limits.ts'
import type { Family } from './metrics/family.ts'
import { brokerApis, controllerApis } from './node-apis.ts'
import { type NodeOptions, StartStoppedError } from './node-options.ts'
import { healthOf, metricsOf, type ReportedParts } from './node-report.ts'
import { addressOfBroker, controllerEndpoints } from './registered-listeners.ts'
import { Suspects } from './suspects.ts'
import type { MetadataSource } from './services.ts'

/** How long a stop waits for the controller to move leaderships to other nodes. */
const HAND_OVER_MS = 500
/** A change that was decided elsewhere shows here at once, as a rule; nobody's answer waits longer for it. */
const CAUGHT_UP_WITHIN_MS = 5000
const PEER_OPTIONS = { connectTimeoutMs: 1000, requestTimeoutMs: 10_000 }

/** The parts of a node, each from the moment it has been opened. */
interface Parts {
  logs?: LogManager
  quorum?: Quorum
  link?: ControllerLink
  broker?: BrokerHalf
  lifecycle?: BrokerLifecycle
  controllerEntry?: ControllerEntry
  remembered?: RememberedControllers
}

/**
 * One node over an `Env`: broker, controller or both. It is the same in production, in the simulator and embedded in a test.
 * Life cycle: `start` once; `stop` at any time, also while it starts and after a `start` that failed. After a crash the
 * object is dropped. `config` is one whose membership is resolved (`resolveMembership`).
 */
export class Node implements HttpSource {
  readonly config: NodeConfig
  readonly #env: Env
  readonly #options: NodeOptions
  readonly #broker: BrokerContext
  readonly #publisher = new ImagePublisher((changes, image) => this.#applyImage(changes, image))
  readonly #descriptors: DescriptorShares
  readonly #endpoints: Endpoints
  readonly #doors: Doors
  readonly #peers: Peers
  readonly #watch: BrokerWatch
  readonly #suspects: Suspects
  readonly #parts: Parts = {}
  /** What the node is doing, in words, until it serves; null then. */
  #unready: string | null = 'not started'
  #starting: Promise<void> | null = null
  #stopping: Promise<boolean> | null = null
  #scrape: Promise<Family[]> | null = null
  readonly #stopRequested = Promise.withResolvers<void>()
  readonly #registered = Promise.withResolvers<void>()
  /** What earlier lives left in the folder has been judged by the metadata. */
  readonly #cleared = Promise.withResolvers<void>()

  constructor(env: Env, config: NodeConfig, options: NodeOptions) {
    this.#env = env
    this.config = config
    this.#options = options
    this.#broker = { brokerId: config.nodeId, staticValues: config.brokerValues }
    this.#endpoints = new Endpoints({
      nodeId: config.nodeId,
      advertised: new Set(config.advertised.keys()),
      image: () => this.#publisher.image,
    })
    this.#descriptors = shareDescriptors(options.descriptorLimit ?? null)
    this.#doors = new Doors({
      env,
      config,
      limits: this.#within(config.limits),
      endpointOf: (connection, nodeId) => this.#endpoints.of(connection, nodeId),
      controllerConnectionClosed: (connection) => this.#watch.connectionClosed(connection),
      bug: (error) => this.#bug(error),
    })
    this.#suspects = new Suspects(env, {
      image: () => this.image,
      addressOf: (brokerId) => addressOfBroker(this.image, brokerId, config.interBrokerListener),
    })
    const peerOptions = { clientId: `node-${config.nodeId}`, ...PEER_OPTIONS }
    this.#peers = new Peers(env.net, env.timers, peerOptions, (address) => this.#suspects.lost(address))
    this.#watch = new BrokerWatch(env, {
      nodeId: config.nodeId,
      image: () => this.#parts.quorum?.image ?? MetadataImage.empty,
      isActive: () => this.#parts.quorum?.isActive === true,
      lost: (brokerId, brokerEpoch) => this.#parts.quorum?.brokerLost(brokerId, brokerEpoch),
    })
  }

  get nodeId(): number {
    return this.config.nodeId
  }

  get clusterId(): string {
    return this.#parts.logs?.metaProperties.clusterId ?? ''
  }

  /** Where clients connect, once started. */
  get listeners(): readonly BoundListener[] {
    return this.#doors.listeners
  }

  get controllerAddress(): Address | null {
    return this.#doors.controllerAddress
  }

  /** Clients connected now. */
  get connectionCount(): number {
    return this.#doors.clients.connections.size
  }

  // For who looks at a node from outside, as the simulator's invariants do.

  get quorum(): Quorum | undefined {
    return this.#parts.quorum
  }

  /** Of this life as a broker. */
  get incarnationId(): string | undefined {
    return this.#parts.lifecycle?.incarnationId
  }

  /** It is a broker only, or the quorum counts on it: on this directory, and not on one of before under its number. */
  get hasItsVote(): boolean {
    if (!this.#has('controller')) return true
    const directoryId = this.logs?.metaProperties.directoryId ?? ''
    return this.quorum?.facts.voters.has({ id: this.nodeId, directoryId }) === true
  }

  get logs(): LogManager | undefined {
    return this.#parts.logs
  }

  get replicas(): ReplicaManager | undefined {
    return this.#parts.broker?.replicas
  }

  get groups(): GroupCoordinator | undefined {
    return this.#parts.broker?.groups
  }

  /** The cluster as this node shows it to clients. */
  get image(): MetadataImage {
    return this.#publisher.image
  }

  /** What it leads may be led by others: it has not heard all, or not done all that it heard. */
  #mayBeBehind(quorum: Quorum): boolean {
    return quorum.mayBeBehind || this.image.position.offset < quorum.image.position.offset
  }

  /**
   * Resolves when clients are served. Rejects with `DataFolderError` (the folder is refused), `NetError` (an address
   * cannot be bound), `RegistrationRefusedError` (another process has this node id), `StartStoppedError`;
   * call `stop` then all the same.
   */
  start(): Promise<void> {
    this.#starting = this.#start()
    return this.#starting
  }

  async #start(): Promise<void> {
    const { config } = this
    const startedMs = this.#env.clock.monotonicMs()
    this.#begin('taking the data folder')
    const logs = await this.#takeFolder()
    this.#parts.logs = logs
    this.#begin('binding the listeners')
    await this.#doors.bind()
    this.#begin('joining the metadata quorum')
    const quorum = await this.#openQuorum(logs)
    this.#parts.quorum = quorum
    const link = this.#linkTo(quorum)
    this.#parts.link = link
    this.#parts.remembered = this.#remember(quorum)
    if (this.#has('broker')) await this.#startBroker(logs, quorum, link)
    this.#unready = null
    const tookMs = Math.round(this.#env.clock.monotonicMs() - startedMs)
    this.#env.log.info('serving', { nodeId: config.nodeId, clusterId: this.clusterId, tookMs })
  }

  async #startBroker(logs: LogManager, quorum: Quorum, link: ControllerLink): Promise<void> {
    this.#begin('looking at its earlier lives')
    const entry = await this.#newEntry(logs, quorum, link)
    const { lifecycle } = entry
    this.#parts.lifecycle = lifecycle
    this.#begin('registering with the controller')
    const brokerEpoch = await entry.register()
    if (brokerEpoch >= 0) this.#registered.resolve()
    this.#begin('reading the metadata')
    // What lies in the folder is judged by an image that is no older than this life of the broker.
    await Promise.race([quorum.caughtUp(), this.#stopRequested.promise])
    await this.#publisher.offered(brokerEpoch)
    this.#begin('opening the logs')
    const half = await this.#openPartitions(logs, quorum, link, brokerEpoch)
    this.#begin('waiting for the controller to let this node serve')
    await lifecycle.serve()
    await this.#publisher.reached(quorum.image.position.offset)
    this.#begin('opening its doors')
    this.#openForClients(quorum, link, half, lifecycle)
  }

  #has(role: Role): boolean {
    return this.config.membership.roles.includes(role)
  }

  /** Begins a step of the start; between two of them the node can be stopped. */
  #begin(step: string): void {
    if (this.#stopping !== null) throw new StartStoppedError('the node was stopped while it started')
    this.#unready = step
  }

  /**
   * Answers what it can, writes everything down, and leaves the mark of a clean stop last. Returns whether it could:
   * without the mark the next start looks through the ends of the logs.
   */
  stop(): Promise<boolean> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<boolean> {
    if (this.#unready !== null) await this.#endStart()
    this.#unready = 'stopping'
    const { logs, quorum, link, broker, lifecycle } = this.#parts
    await this.#doors.clients.stopListening()
    // A group member that is told nothing comes back sooner than one that is told to look for another coordinator.
    if (lifecycle !== undefined && this.#hasOthers()) await lifecycle.shutDown(HAND_OVER_MS)
    lifecycle?.abandon()
    this.#publisher.close()
    await broker?.replicas.stop()
    broker?.outlooks.close()
    broker?.groups.close()
    link?.close()
    this.#doors.clients.endAll()
    this.#parts.controllerEntry?.stop()
    await this.#parts.remembered?.stop()
    // The others elect another leader while they can still ask this one.
    await quorum?.stop()
    await this.#doors.controllers.stopListening()
    this.#doors.controllers.endAll()
    this.#peers.close()
    const isClean = await logs?.close({ brokerEpoch: this.#lastBrokerEpoch() })
    this.#unready = 'stopped'
    return isClean ?? true
  }

  /** Of the life that used the logs last: this one, or, when it did not get that far, the one that ended cleanly before it. */
  #lastBrokerEpoch(): number {
    const { lifecycle, logs } = this.#parts
    const own = lifecycle?.brokerEpoch ?? -1
    return own >= 0 ? own : (logs?.previousBrokerEpoch ?? -1)
  }

  /** What a start waits for may never come now; where it stands it ends, and nothing is opened after that. */
  async #endStart(): Promise<void> {
    this.#stopRequested.resolve()
    this.#parts.lifecycle?.abandon()
    this.#parts.link?.close()
    this.#parts.broker?.replicas.interrupt()
    this.#publisher.close()
    // Its caller hears why it ended.
    await this.#starting?.catch(() => undefined)
  }

  health(): HealthReport {
    return healthOf(this.#reported)
  }

  /** Who asks while somebody is being answered gets the same answer. */
  metrics(): Promise<Family[]> {
    this.#scrape ??= metricsOf(this.#reported).finally(() => {
      this.#scrape = null
    })
    return this.#scrape
  }

  get #reported(): ReportedParts {
    const { logs, quorum, broker } = this.#parts
    return {
      config: this.config,
      version: this.#options.version,
      doors: this.#doors,
      logs,
      quorum,
      broker,
      unready: this.#unready,
      image: this.image,
      shownOffset: this.image.position.offset,
      isFenced: this.#has('broker') && this.image.broker(this.nodeId)?.fenced !== false,
    }
  }

  #takeFolder(): Promise<LogManager> {
    const { dataFolder: folder, nodeId, settings, membership } = this.config
    const reserveBytes = settings.number('log.min.free.bytes')
    const { clusterId, forms } = membership
    const openFilesMax = this.#descriptors.logFilesMax
    return takeDataFolder(this.#env, { folder, nodeId, reserveBytes, openFilesMax }, { clusterId, forms })
  }

  #openQuorum(logs: LogManager): Promise<Quorum> {
    const { dataFolder, controllerListener, membership, given } = this.config
    const isController = this.#has('controller')
    return openQuorum(this.#env, {
      logs,
      dataFolder,
      broker: this.#broker,
      isController,
      listener: controllerListener.name,
      endpoints: controllerEndpoints(this.config, this.controllerAddress, this.#options.hostName),
      peers: this.#peers,
      join: membership.bootstrap,
      autoJoin: isController && joinsByItself(this.config),
      ...(this.#has('broker') ? { joinAfter: this.#registered.promise, snapshotsAfter: this.#cleared.promise } : {}),
      staticVoters: given.staticVoters,
      onImage: (changes, image) => this.#onImage(changes, image),
      onFailure: (error) => this.#bug(error),
      onLeader: () => this.#parts.link?.controllerChanged(),
      onActive: () => this.#watch.becameActive(),
    })
  }

  async #onImage(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    if (changes.brokers.length > 0) void this.#watch.imageChanged()
    await this.#publisher.take(changes, image)
    this.#suspects.imageChanged()
  }

  #remember(quorum: Quorum): RememberedControllers {
    const { dataFolder: folder, membership, controllerListener } = this.config
    const controllers = () =>
      quorum.facts.voters.voters.flatMap(({ endpoints }) =>
        endpoints.filter(({ name }) => name === controllerListener.name),
      )
    const remembered = new RememberedControllers(this.#env, { folder, roles: membership.roles, controllers })
    remembered.start().catch((error: unknown) => this.#bug(error))
    return remembered
  }

  /** From here on this node takes part: it answers the other nodes of the quorum, and finds the active controller. */
  #linkTo(quorum: Quorum): ControllerLink {
    const { nodeId } = this.config
    const here = new ControllerSide(nodeId, quorum, this.config.controllerListener.name)
    if (this.#has('controller')) {
      const source = { ...this.#sourceOf(quorum), image: () => quorum.image }
      const { logLevel } = this.#options
      this.#doors.openForControllers(
        controllerApis({
          source,
          broker: this.#broker,
          quorum,
          side: here,
          watch: this.#watch,
          kraftVersion: () => quorum.kraftVersion,
          ...(logLevel === undefined ? {} : { logLevel }),
        }),
      )
    }
    const link = new ControllerLink(this.#env, { nodeId, peers: this.#peers, location: quorum, here })
    if (this.#has('controller')) this.#registerController(quorum, link)
    return link
  }

  #registerController(quorum: Quorum, link: ControllerLink): void {
    const endpoints = controllerEndpoints(this.config, this.controllerAddress, this.#options.hostName)
    const entry = new ControllerEntry(this.#env, { quorum, link, endpoints })
    this.#parts.controllerEntry = entry
    entry.register().catch((error: unknown) => {
      // A quorum that fails says so itself; one that stops needs no registration.
      if (!(error instanceof NotControllerError || error instanceof LogUnavailableError)) this.#bug(error)
    })
  }

  #sourceOf(quorum: Quorum): MetadataSource {
    return {
      env: this.#env,
      clusterId: this.clusterId,
      nodeId: this.config.nodeId,
      image: () => this.#publisher.image,
      activeController: () => quorum.activeController(),
      settled: (named) => this.#suspects.settled(named),
    }
  }

  #newEntry(logs: LogManager, quorum: Quorum, link: ControllerLink): Promise<BrokerEntry> {
    return BrokerEntry.open(this.#env, {
      config: this.config,
      broker: this.#broker,
      logs,
      quorum,
      link,
      listeners: this.listeners,
      hostName: this.#options.hostName,
      appliedOffset: () => this.image.position.offset,
      stopRequested: this.#stopRequested.promise,
      onRefused: (error) => this.#bug(error),
    })
  }

  async #openPartitions(
    logs: LogManager,
    quorum: Quorum,
    link: ControllerLink,
    brokerEpoch: number,
  ): Promise<BrokerHalf> {
    const { image } = quorum
    this.#publisher.hold(image)
    const half = new BrokerHalf(this.#env, image, {
      broker: this.#broker,
      folder: this.config.dataFolder,
      logs,
      cluster: {
        peers: this.#peers,
        controller: link,
        addressOf: (nodeId) => addressOfBroker(quorum.image, nodeId, this.config.interBrokerListener),
        brokerEpoch: () => brokerEpoch,
        mayBeSucceeded: () => this.#parts.lifecycle?.mayBeSucceeded() === true || this.#mayBeBehind(quorum),
      },
      answers: this.#doors.clients.answers,
      image: () => this.image,
      removedTopics: () => quorum.removedTopics(),
      bug: (error) => this.#bug(error),
    })
    this.#parts.broker = half
    this.#applyBrokerConfigs(image)
    await half.replicas.start(image)
    // A start that is cut short has not judged all.
    if (this.#stopping === null) this.#cleared.resolve()
    this.#publisher.begin()
    return half
  }

  /** Asks of this node what a new image asks, before clients see it. */
  async #applyImage(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    if (changes.configs.some(({ type }) => type === ResourceType.broker)) this.#applyBrokerConfigs(image)
    await this.#parts.broker?.applyImage(changes, image)
  }

  /** What was set at run time, now or in an earlier life, stands above the node's own settings. */
  #applyBrokerConfigs(image: MetadataImage): void {
    this.#parts.broker?.applyConfigs(image)
    this.#doors.clients.limits = this.#within(limitsUnder(this.config.limits, image, this.#broker))
  }

  #within(limits: ConnectionLimits): ConnectionLimits {
    return { ...limits, connectionsMax: Math.min(limits.connectionsMax, this.#descriptors.connectionsMax) }
  }

  #openForClients(
    quorum: Quorum,
    link: ControllerLink,
    { replicas, groups, lags }: BrokerHalf,
    lifecycle: BrokerLifecycle,
  ): void {
    const { logLevel, around = (apis) => apis } = this.#options
    const apis = brokerApis({
      self: {
        softwareVersion: this.#options.version,
        descriptorLimit: this.#options.descriptorLimit ?? -1,
        memoryLimitBytes: this.#options.memoryLimitBytes ?? -1,
      },
      source: this.#sourceOf(quorum),
      endpoints: this.#endpoints,
      broker: this.#broker,
      link,
      kraftVersion: () => quorum.kraftVersion,
      replicas,
      groups,
      lags,
      brokerEpoch: () => lifecycle.brokerEpoch,
      caughtUp: (offset) => this.#caughtUp(offset),
      ...(logLevel === undefined ? {} : { logLevel }),
    })
    this.#doors.openForClients(around(apis))
  }

  async #caughtUp(metadataOffset: number): Promise<void> {
    if (this.image.position.offset >= metadataOffset) return
    const late = Promise.withResolvers<void>()
    const timer = this.#env.timers.after(CAUGHT_UP_WITHIN_MS, late.resolve)
    await Promise.race([this.#publisher.reached(metadataOffset), late.promise])
    timer.cancel()
  }

  /** Other nodes that could take over what this one leads. */
  #hasOthers(): boolean {
    for (const [nodeId, { fenced }] of this.image.brokers) if (nodeId !== this.config.nodeId && !fenced) return true
    return false
  }

  #bug(error: unknown): void {
    this.#doors.destroyAll()
    this.#options.onBug(error)
  }
}

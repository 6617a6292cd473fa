import { type BrokerContext, brokerNumber } from '../controller/config-view.ts'
import type { Env } from '../env/env.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { BrokerLifecycle, RegistrationRefusedError } from '../quorum/broker-lifecycle.ts'
import type { Quorum } from '../quorum/quorum.ts'
import type { LogManager } from '../storage/log-manager.ts'
import type { NodeConfig } from './config/node-config.ts'
import type { BoundListener } from './doors.ts'
import type { ControllerLink } from './forward/controller-link.ts'
import { NodeIdTakenError } from './node-options.ts'
import { noteIncarnation, noteRegistered, readOwnIncarnations } from './own-incarnations.ts'
import { registeredListeners } from './registered-listeners.ts'

/** A heartbeat that takes longer is given up, and sent anew to whoever is the controller then. */
const HEARTBEAT_TIMEOUT_MS = 1000

export interface BrokerEntryOptions {
  readonly config: NodeConfig
  readonly broker: BrokerContext
  readonly logs: LogManager
  readonly quorum: Quorum
  readonly link: ControllerLink
  readonly listeners: readonly BoundListener[]
  readonly hostName: string
  /** Of the metadata that this broker has applied. */
  appliedOffset(): number
  /** Resolves when the node is to stop: nothing more is waited for. */
  readonly stopRequested: Promise<void>
  onRefused(error: Error): void
}

/** How a broker comes into its cluster: recognised by what its folder knows of its earlier lives, under a number that nobody else has. */
export class BrokerEntry {
  readonly lifecycle: BrokerLifecycle
  readonly #env: Env
  readonly #options: BrokerEntryOptions
  readonly #before: readonly string[]

  private constructor(env: Env, options: BrokerEntryOptions, before: readonly string[]) {
    this.#env = env
    this.#options = options
    this.#before = before
    const { config, broker, logs, quorum, link, listeners, hostName } = options
    this.lifecycle = new BrokerLifecycle(env, {
      brokerId: config.nodeId,
      clusterId: logs.metaProperties.clusterId,
      directoryId: logs.metaProperties.directoryId,
      listeners: registeredListeners(config, listeners, hostName),
      rack: config.zone,
      previousBrokerEpoch: logs.previousBrokerEpoch,
      ownIncarnations: before,
      givesWay: config.membership.givesWay,
      countsDurable: broker.staticValues.get('log.durability.mode') !== 'relaxed',
      heartbeatIntervalMs: brokerNumber(quorum.image, broker, 'broker.heartbeat.interval.ms'),
      sessionMs: () => brokerNumber(quorum.image, broker, 'broker.session.timeout.ms'),
      controller: { send: (api, request) => link.send(api, request, { timeoutMs: HEARTBEAT_TIMEOUT_MS }) },
      appliedOffset: () => options.appliedOffset(),
      outOfSpace: () => logs.outOfSpace,
      onRefused: (error) => options.onRefused(error),
    })
    logs.onSpaceChange(() => this.lifecycle.spaceChanged())
  }

  static async open(env: Env, options: BrokerEntryOptions): Promise<BrokerEntry> {
    return new BrokerEntry(env, options, await readOwnIncarnations(env.disk, options.config.dataFolder))
  }

  /** Returns the broker epoch; -1 when the node was stopped first. Rejects with `NodeIdTakenError` where another node has the number that was chosen for this one. */
  async register(): Promise<number> {
    const { disk } = this.#env
    const { dataFolder } = this.#options.config
    const { incarnationId } = this.lifecycle
    await noteIncarnation(disk, dataFolder, this.#before, incarnationId)
    if (this.#options.config.membership.givesWay) await this.#refuseTakenNumber()
    const brokerEpoch = await this.#registered()
    if (brokerEpoch >= 0) await noteRegistered(disk, dataFolder, incarnationId)
    return brokerEpoch
  }

  /** Whoever has it may be down, with all that it holds. */
  async #refuseTakenNumber(): Promise<void> {
    const { quorum, stopRequested, config, logs } = this.#options
    await Promise.race([quorum.caughtUp(), stopRequested])
    const directories = quorum.image.broker(config.nodeId)?.logDirs ?? []
    if (directories.some((id) => id !== logs.metaProperties.directoryId)) throw this.#taken()
  }

  async #registered(): Promise<number> {
    try {
      return await this.lifecycle.register()
    } catch (error) {
      const isTaken =
        error instanceof RegistrationRefusedError && error.errorCode === ErrorCode.DUPLICATE_BROKER_REGISTRATION
      throw isTaken ? this.#taken() : error
    }
  }

  #taken(): NodeIdTakenError {
    const { quorum, config } = this.#options
    return new NodeIdTakenError(config.nodeId, new Set([...quorum.image.brokers.keys(), ...quorum.facts.voters.ids]))
  }
}

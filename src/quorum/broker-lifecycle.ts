import { registeredFeatures } from '../controller/features.ts'
import { sleep, type Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import { newIncarnationId } from '../model/ids.ts'
import { BrokerHeartbeat, type BrokerHeartbeatResponse } from '../protocol/apis/broker-heartbeat.ts'
import { BrokerRegistration } from '../protocol/apis/broker-registration.ts'
import { ErrorCode, errorName, isRetriable } from '../protocol/errors.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'

/** The controller as a broker sees it: this node's own, or another one over the network. May reject: it is asked again. */
export interface ControllerChannel {
  send<A extends typeof BrokerRegistration | typeof BrokerHeartbeat>(
    api: A,
    request: RequestOf<A>,
  ): Promise<ResponseOf<A>>
}

export interface BrokerLifecycleOptions {
  readonly brokerId: number
  readonly clusterId: string
  readonly directoryId: string
  readonly listeners: RequestOf<typeof BrokerRegistration>['listeners']
  readonly rack: string | null
  /** Epoch of the clean stop before this start, or null: the tail of the logs may be missing records. */
  readonly previousBrokerEpoch: number | null
  /** Incarnations that may have run last on this folder, however they ended. Empty: not known. */
  readonly ownIncarnations: readonly string[]
  /** In fsync topics this broker acknowledges only what is on its disk. */
  readonly countsDurable: boolean
  /** Nobody insists on the number of this broker: when somebody else has it, the registration is refused at once. */
  readonly givesWay?: boolean
  readonly heartbeatIntervalMs: number
  /** How long the controller bears its silence. */
  readonly sessionMs: () => number
  readonly controller: ControllerChannel
  /** How its disk is: see BrokerHeartbeat. */
  readonly outOfSpace: () => number
  /** Offset of the last metadata record that this broker has applied. */
  readonly appliedOffset: () => number
  /** The controller knows this incarnation no more: another one took its place, or it was unregistered. */
  readonly onRefused: (error: Error) => void
}

/** The controller does not want this broker. The message is meant for the operator. */
export class RegistrationRefusedError extends Error {
  override name = 'RegistrationRefusedError'
  readonly errorCode: number

  constructor(message: string, errorCode: number) {
    super(`${message} (${errorName(errorCode)})`)
    this.errorCode = errorCode
  }
}

/** Between beats while something is waited for: to be unfenced, to be let go. */
const QUICK_MS = 10
/** Before a request that failed, or a registration that another incarnation stands in the way of, is tried again. */
const RETRY_MS = 200
/** While a request is tried again for the same reason, it is said this often. */
const SAID_EVERY_MS = 30_000

/**
 * A broker's relation to its controller (KIP-631): registers this incarnation, fenced; reports at intervals how far it has
 * read; is unfenced once it has read its own registration; asks before it stops. Life cycle: `register`, then `serve`
 * when the broker has applied the metadata and is ready; `shutDown` or `abandon` at the end.
 */
export class BrokerLifecycle {
  readonly #env: Env
  readonly #options: BrokerLifecycleOptions
  readonly incarnationId: string
  #brokerEpoch = -1
  #isFenced = true
  /** When the last report was sent that was answered with: you live. */
  #confirmedMs = Number.NEGATIVE_INFINITY
  /** It was not heard for a session, and until then may not have learnt what it missed. */
  #doubtedUntilMs = Number.NEGATIVE_INFINITY
  #isReady = false
  #wantsShutDown = false
  #stopped = false
  #timer: Timer | null = null
  /** While a heartbeat is on its way, the next one is not due. */
  #isAsking = false
  #toldOutOfSpace = 0
  #hasCordoned = false
  /** The trouble that was told last, and when. */
  #said: { readonly text: string; readonly atMs: number } | null = null
  /** Whether an answer ends the waiting, and who waits. */
  #waiting: { isReached(response: BrokerHeartbeatResponse): boolean; resolve(): void } | null = null

  constructor(env: Env, options: BrokerLifecycleOptions) {
    this.#env = env
    this.#options = options
    this.incarnationId = newIncarnationId((length) => env.randomBytes(length))
  }

  get brokerEpoch(): number {
    return this.#brokerEpoch
  }

  get isFenced(): boolean {
    return this.#isFenced
  }

  /**
   * A session has gone by without a word from the controller: it takes this broker for dead by now, nearly always, and
   * others may lead what this one believes to lead. (A controller that has just been cut off with it still answers for a
   * moment.) When it is heard again this broker counts as alive at once, and learns from the metadata what it has missed.
   */
  mayBeSucceeded(): boolean {
    const nowMs = this.#env.clock.monotonicMs()
    const isSilent = nowMs - this.#confirmedMs >= this.#options.sessionMs()
    return this.#isFenced || isSilent || nowMs < this.#doubtedUntilMs
  }

  #confirmed(sentMs: number): void {
    const silentMs = sentMs - this.#confirmedMs
    const sessionMs = this.#options.sessionMs()
    this.#confirmedMs = sentMs
    // Not at its first answer: what it leads then it has read since it registered.
    if (Number.isFinite(silentMs) && silentMs >= sessionMs) {
      this.#doubtedUntilMs = this.#env.clock.monotonicMs() + sessionMs
    }
  }

  /**
   * Registers, and begins to report. Tries again while no controller answers, and while an earlier incarnation still
   * counts as alive. Rejects with `RegistrationRefusedError`. Returns the broker epoch; -1 when `abandon` came first.
   */
  async register(): Promise<number> {
    for (;;) {
      const response = await this.#tryRegister()
      if (response?.errorCode === ErrorCode.NONE) {
        this.#brokerEpoch = response.brokerEpoch
        this.#said = null
        this.#schedule(this.#options.heartbeatIntervalMs)
        return response.brokerEpoch
      }
      const mayWait = response?.errorCode === ErrorCode.DUPLICATE_BROKER_REGISTRATION && this.#options.givesWay !== true
      // Retriable: the controller could not write it down just now; its disk is full, or it has lost its place.
      if (response !== null && !mayWait && !isRetriable(response.errorCode)) {
        const message = `the controller refuses the registration of node ${this.#options.brokerId}`
        throw new RegistrationRefusedError(message, response.errorCode)
      }
      if (mayWait) this.#sayDuplicate()
      await sleep(this.#env.timers, RETRY_MS)
      if (this.#stopped) return -1
    }
  }

  /** Null when no controller answered. */
  async #tryRegister(): Promise<ResponseOf<typeof BrokerRegistration> | null> {
    const { brokerId, clusterId, directoryId, listeners, rack, previousBrokerEpoch, controller } = this.#options
    const { ownIncarnations, countsDurable } = this.#options
    const features = registeredFeatures(countsDurable)
    try {
      return await controller.send(BrokerRegistration, {
        brokerId,
        clusterId,
        incarnationId: this.incarnationId,
        listeners,
        features,
        rack,
        isMigratingZkBroker: false,
        logDirs: [directoryId],
        previousBrokerEpoch: previousBrokerEpoch ?? -1,
        ownIncarnations,
      })
    } catch (error) {
      this.#say('No controller took the registration', { reason: (error as Error).message })
      return null
    }
  }

  /** A process that died counts as alive until its session ends; another one for as long as it runs. */
  #sayDuplicate(): void {
    const message = 'Another process is this node in the cluster; waiting until it is gone'
    this.#say(message, { nodeId: this.#options.brokerId, hint: 'is this folder a copy, or --node-id taken?' })
  }

  #say(message: string, fields: Readonly<Record<string, string | number>>): void {
    const nowMs = this.#env.clock.monotonicMs()
    const text = `${message} ${fields['reason']}`
    if (this.#said?.text === text && nowMs - this.#said.atMs < SAID_EVERY_MS) return
    this.#said = { text, atMs: nowMs }
    this.#env.log.warn(message, fields)
  }

  /** The broker is ready for clients. Resolves when the controller has unfenced it, or when `abandon` was called. */
  async serve(): Promise<void> {
    this.#isReady = true
    await this.#beatUntil(({ isFenced }) => !isFenced)
  }

  /** Asks to stop: leaderships are moved away first. Resolves when the controller lets go, or after `timeoutMs`. */
  async shutDown(timeoutMs: number): Promise<void> {
    this.#wantsShutDown = true
    await Promise.race([this.#beatUntil((response) => response.shouldShutDown), sleep(this.#env.timers, timeoutMs)])
    this.abandon()
  }

  /** No more reports: the controller will take this broker for dead. */
  abandon(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#waiting?.resolve()
  }

  /** How the disk is has changed: the controller hears at once, and moves what this broker leads. */
  spaceChanged(): void {
    if (this.#timer !== null && !this.#isAsking) this.#schedule(0)
  }

  #beatUntil(isReached: (response: BrokerHeartbeatResponse) => boolean): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiting = { isReached, resolve }
      this.#schedule(0)
    })
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel()
    if (!this.#stopped) this.#timer = this.#env.timers.after(delayMs, () => this.#beat())
  }

  #beat(): void {
    const { brokerId, controller, appliedOffset } = this.#options
    const outOfSpace = this.#options.outOfSpace()
    const request = {
      brokerId,
      brokerEpoch: this.#brokerEpoch,
      currentMetadataOffset: appliedOffset(),
      wantFence: !this.#isReady,
      wantShutDown: this.#wantsShutDown,
      offlineLogDirs: [],
      cordonedLogDirs: this.#cordoned(outOfSpace),
      outOfSpace,
    }
    const sentMs = this.#env.clock.monotonicMs()
    this.#isAsking = true
    this.#toldOutOfSpace = outOfSpace
    controller.send(BrokerHeartbeat, request).then(
      (response) => this.#onBeaten(response, sentMs),
      (error: Error) => {
        this.#isAsking = false
        if (this.#stopped) return
        this.#say('No controller took the heartbeat', { reason: error.message })
        this.#schedule(RETRY_MS)
      },
    )
  }

  /** For the controllers of Apache Kafka, which know no full disks: no new replicas come here (KIP-1066). */
  #cordoned(outOfSpace: number): readonly string[] | null {
    if (outOfSpace > 0) this.#hasCordoned = true
    if (!this.#hasCordoned) return null
    return outOfSpace > 0 ? [this.#options.directoryId] : []
  }

  #onBeaten(response: BrokerHeartbeatResponse, sentMs: number): void {
    this.#isAsking = false
    if (this.#stopped) return
    if (isRetriable(response.errorCode)) return this.#schedule(RETRY_MS)
    if (response.errorCode !== ErrorCode.NONE) {
      this.#isFenced = true
      const message =
        `the cluster knows this process as node ${this.#options.brokerId} no more: another one took its place ` +
        '(is there a copy of its folder?), or it was unregistered'
      this.#options.onRefused(new RegistrationRefusedError(message, response.errorCode))
      return
    }
    this.#said = null
    this.#isFenced = response.isFenced
    if (!response.isFenced) this.#confirmed(sentMs)
    if (this.#waiting?.isReached(response)) {
      this.#waiting.resolve()
      this.#waiting = null
    }
    if (this.#options.outOfSpace() !== this.#toldOutOfSpace) return this.#schedule(0)
    this.#schedule(this.#waiting === null ? this.#options.heartbeatIntervalMs : QUICK_MS)
  }
}

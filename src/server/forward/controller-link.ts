import { MalformedError } from '../../base/bytes.ts'
import { sleep } from '../../env/clock.ts'
import type { Env } from '../../env/env.ts'
import type { Address } from '../../env/net.ts'
import { LogUnavailableError } from '../../env/replicated-log.ts'
import type { ControllerApi } from '../../controller/shard.ts'
import { Envelope } from '../../protocol/apis/envelope.ts'
import { ErrorCode, errorName } from '../../protocol/errors.ts'
import type { RequestOf, ResponseOf } from '../../protocol/schema.ts'
import { NotControllerError } from '../../quorum/errors.ts'
import { ClientError } from '../../rpc/errors.ts'
import type { Peers } from '../../rpc/peers.ts'
import {
  type ClientOrigin,
  type ControllerChannel,
  type ControllerForwarder,
  ControllerUnavailableError,
  type Forwarded,
  type ForwardedApi,
} from '../controller-channel.ts'
import type { ControllerSide } from './controller-side.ts'
import { unwrapResponse, wrapRequest } from './envelope-codec.ts'

/** Where the active controller is, as this node's part of the quorum knows it. */
export interface ControllerLocation {
  activeController(): number | null
  /** Its listener for controllers. */
  leaderAddress(): Address | null
}

export interface ControllerLinkOptions {
  readonly nodeId: number
  readonly peers: Pick<Peers, 'request'>
  readonly location: ControllerLocation
  /** This node as a controller, for when it is the active one. */
  readonly here: ControllerSide
}

/** One request, by both ways. Rejects with `NotControllerError` or a `ClientError` when it should be tried again. */
interface Attempt<T> {
  here(): Promise<T>
  there(address: Address, timeoutMs: number): Promise<T>
  /** Nobody waits any more. */
  isOver?(): boolean
}

/** Heartbeats and what a broker itself asks must not wait behind what clients ask. */
const OWN_LANE = 'control'
const CLIENTS_LANE = 'forward'
/** A change of voters waits until the new one is level. */
const VOTERS_LANE = 'forward-voters'
/** Between two attempts while no controller answers; a new one that becomes known is asked at once. */
const RETRY_MS = 20
const OWN_TIMEOUT_MS = 5_000
/** Clients give their own requests 30 s: the answer that no controller came must reach them before. */
const FORWARD_TIMEOUT_MS = 25_000

/**
 * The way to the active controller: a call where this node is the one, else a request to the other's listener. What it
 * did not answer before it lost its place is asked of its successor, so it may be decided twice (as with a connection
 * that breaks). Life cycle: `controllerChanged` whenever the quorum says so; `close` once.
 */
export class ControllerLink implements ControllerChannel, ControllerForwarder {
  readonly #env: Env
  readonly #options: ControllerLinkOptions
  /** Called once each, when the controller changes. */
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  constructor(env: Env, options: ControllerLinkOptions) {
    this.#env = env
    this.#options = options
  }

  /** Another controller is active, or none: what waits for the old one is asked again. */
  controllerChanged(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of waiting) wake()
  }

  /** What waits is rejected. */
  close(): void {
    this.#isClosed = true
    this.controllerChanged()
  }

  send<A extends ControllerApi>(
    api: A,
    request: RequestOf<A>,
    { timeoutMs = OWN_TIMEOUT_MS }: { timeoutMs?: number } = {},
  ): Promise<ResponseOf<A>> {
    const { peers, here } = this.#options
    const attempt: Attempt<ResponseOf<A>> = {
      here: () => here.decide(api, request, api.versions[1]) as Promise<ResponseOf<A>>,
      there: async (address, leftMs) => {
        const response = await peers.request(address, OWN_LANE, api, request, { timeoutMs: leftMs })
        const { errorCode } = response as { readonly errorCode?: number }
        if (errorCode === ErrorCode.NOT_CONTROLLER) throw new NotControllerError(null)
        return response
      },
    }
    return this.#ask(attempt, timeoutMs)
  }

  forward<A extends ForwardedApi>(api: A, request: RequestOf<A>, origin: ClientOrigin): Promise<Forwarded<A>> {
    const { timeoutMs: givenMs } = request as { readonly timeoutMs?: number }
    const timeoutMs = Math.min(givenMs ?? FORWARD_TIMEOUT_MS, FORWARD_TIMEOUT_MS)
    const attempt: Attempt<Forwarded<A>> = {
      here: async () => {
        const response = (await this.#options.here.decide(api, request, origin.version)) as ResponseOf<A>
        return { response, metadataOffset: this.#options.here.committedOffset }
      },
      there: (address, leftMs) => this.#wrapped(api, request, origin, address, leftMs),
      isOver: () => origin.gone,
    }
    return this.#ask(attempt, timeoutMs)
  }

  async #wrapped<A extends ForwardedApi>(
    api: A,
    request: RequestOf<A>,
    origin: ClientOrigin,
    address: Address,
    timeoutMs: number,
  ): Promise<Forwarded<A>> {
    const lane = api.name.endsWith('RaftVoter') ? VOTERS_LANE : CLIENTS_LANE
    const body = wrapRequest(api, request, origin)
    const answer = await this.#options.peers.request(address, lane, Envelope, body, { timeoutMs })
    const { errorCode, responseData, metadataOffset } = answer
    if (errorCode === ErrorCode.NOT_CONTROLLER) throw new NotControllerError(null)
    if (errorCode !== ErrorCode.NONE) {
      const message = `the active controller refuses ${api.name}: ${errorName(errorCode)}`
      throw new ControllerUnavailableError(message, { errorCode })
    }
    try {
      return { response: unwrapResponse(api, origin.version, responseData), metadataOffset }
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      throw new ControllerUnavailableError(`the active controller's answer makes no sense: ${error.message}`)
    }
  }

  async #ask<T>(attempt: Attempt<T>, timeoutMs: number): Promise<T> {
    const { clock, timers } = this.#env
    const deadlineMs = clock.monotonicMs() + timeoutMs
    const restMs = () => Math.ceil(deadlineMs - clock.monotonicMs())
    let failure: Error | null = null
    do {
      const outcome = await this.#try(attempt, restMs())
      if (outcome !== null && !(outcome instanceof Error)) return outcome.answer
      failure = outcome
      if (failure === null) continue
      if (attempt.isOver?.() === true) break
      // What came of the last attempt says more than that no time is left for another.
      if (restMs() > 0 && !this.#isClosed) await this.#unlessChanged(sleep(timers, Math.min(RETRY_MS, restMs())))
    } while (restMs() > 0 && !this.#isClosed)
    const message = failure?.message ?? (this.#isClosed ? 'the node stops' : 'the controller changed')
    throw new ControllerUnavailableError(message, { cause: failure })
  }

  /** An error: not answered, so that it may be tried again. Null: the controller changed, and the next one is to be asked. */
  async #try<T>(attempt: Attempt<T>, leftMs: number): Promise<{ answer: T } | Error | null> {
    const { location, nodeId } = this.#options
    try {
      if (location.activeController() === nodeId) return { answer: await attempt.here() }
      const address = location.leaderAddress()
      if (address === null) return new NotControllerError(null, 'no active controller is known')
      const asked = attempt.there(address, leftMs).then((answer) => ({ answer }))
      return (await this.#unlessChanged(asked)) ?? null
    } catch (error) {
      if (error instanceof NotControllerError || error instanceof ClientError) return error
      if (!(error instanceof LogUnavailableError)) throw error
      if (error.reason === 'resigned') return error
      throw new ControllerUnavailableError(error.message, { cause: error })
    }
  }

  /** Undefined when the controller changed first: what `work` comes to is of no interest any more. */
  #unlessChanged<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const wake = () => resolve(undefined)
      this.#waiting.add(wake)
      work.then(resolve, reject).finally(() => this.#waiting.delete(wake))
    })
  }
}

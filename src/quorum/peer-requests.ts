import type { Env } from '../env/env.ts'
import { NetError } from '../env/net.ts'
import { ApiVersions } from '../protocol/apis/api-versions.ts'
import { BeginQuorumEpoch } from '../protocol/apis/begin-quorum-epoch.ts'
import { EndQuorumEpoch } from '../protocol/apis/end-quorum-epoch.ts'
import { FetchSnapshot } from '../protocol/apis/fetch-snapshot.ts'
import { Fetch } from '../protocol/apis/fetch.ts'
import { UpdateRaftVoter } from '../protocol/apis/update-raft-voter.ts'
import { Vote } from '../protocol/apis/vote.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { AnyApi } from '../protocol/schema.ts'
import type { Effect, InboundResponse, Input, OutboundRequest } from '../raft/types.ts'
import type { Peers } from '../rpc/peers.ts'

type Sending = Extract<Effect, { type: 'send' }>
type Undated<T> = T extends unknown ? Omit<T, 'nowMs'> : never
/** A fact without the moment in which it is told to the machine. */
export type Fact = Undated<Input>

const apis = { ApiVersions, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot, UpdateRaftVoter, Vote } as const

/** A fetch may be parked at the leader: votes must not wait behind it. */
const FETCH_LANE = 'raft-fetch'
const LANE = 'raft'

/** The first with `lastFetchedEpoch`, by which a diverged log is found (KIP-595). */
const FETCH_VERSION_MIN = 12
/** The first with pre-vote: an older peer would take the question for a vote (KIP-996). */
const PRE_VOTE_VERSION = 2

/** A refusal that comes again and again is logged this seldom. */
const COMPLAINT_INTERVAL_MS = 10_000

/** Carries the machine's requests to its peers, and their answers back as facts. */
export class PeerRequests {
  readonly #env: Env
  readonly #peers: Peers
  readonly #timeoutMs: number
  readonly #onFact: (fact: Fact) => void
  #complainedMs = Number.NEGATIVE_INFINITY

  constructor(env: Env, peers: Peers, timeoutMs: number, onFact: (fact: Fact) => void) {
    this.#env = env
    this.#peers = peers
    this.#timeoutMs = timeoutMs
    this.#onFact = onFact
  }

  send({ to, correlationId, request }: Sending): void {
    const { api, body } = request
    const isFetch = api === 'Fetch' || api === 'FetchSnapshot'
    const options = { timeoutMs: this.#timeoutMs, versions: versionsOf(request) }
    const address = { host: to.host, port: to.port }
    this.#peers.request(address, isFetch ? FETCH_LANE : LANE, apis[api] as AnyApi, body as never, options).then(
      (answer) => {
        const response = { api, body: answer } as unknown as InboundResponse
        this.#noticeOtherCluster(response, `${to.host}:${to.port}`)
        this.#onFact({ type: 'response', correlationId, response })
      },
      (error: Error) => this.#onFact({ type: 'request-failed', correlationId, isRefused: isRefused(error) }),
    )
  }

  #noticeOtherCluster({ body }: InboundResponse, peer: string): void {
    if (body.errorCode !== ErrorCode.INCONSISTENT_CLUSTER_ID) return
    const nowMs = this.#env.clock.monotonicMs()
    if (nowMs - this.#complainedMs < COMPLAINT_INTERVAL_MS) return
    this.#complainedMs = nowMs
    this.#env.log.error('A controller belongs to another cluster than this node', { peer })
  }
}

function versionsOf({ api, body }: OutboundRequest): readonly [number, number] {
  const [first, last] = apis[api].versions
  if (api === 'Fetch') return [FETCH_VERSION_MIN, last]
  const isPreVote = api === 'Vote' && body.topics[0]?.partitions[0]?.preVote === true
  return [isPreVote ? PRE_VOTE_VERSION : first, last]
}

/** The host is there, and nobody listens: the process has ended. */
function isRefused(error: Error): boolean {
  return error.cause instanceof NetError && error.cause.code === 'ECONNREFUSED'
}

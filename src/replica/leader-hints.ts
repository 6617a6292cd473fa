import { ErrorCode } from '../protocol/errors.ts'
import { type HostedPartitions, leaderHint } from './hosted.ts'
import type { RequestContext } from './types.ts'

interface Hinted {
  readonly nodeId: number
  readonly host: string
  readonly port: number
  readonly rack: string | null
}

/** Tells a client that asked the wrong node who leads and where that node is, so that it need not ask for metadata (KIP-951). */
export class LeaderHints {
  readonly #hosted: HostedPartitions
  readonly #context: RequestContext
  readonly #endpoints = new Map<number, Hinted>()

  constructor(hosted: HostedPartitions, context: RequestContext) {
    this.#hosted = hosted
    this.#context = context
  }

  /** For an answer with this error; undefined when no leader is to be named. */
  currentLeader(
    errorCode: number,
    topic: string,
    partition: number,
  ): { leaderId: number; leaderEpoch: number } | undefined {
    if (errorCode !== ErrorCode.NOT_LEADER_OR_FOLLOWER && errorCode !== ErrorCode.FENCED_LEADER_EPOCH) return undefined
    const hint = leaderHint(this.#hosted, topic, partition)
    const endpoint = hint.leaderId < 0 ? null : this.#context.endpointOf(hint.leaderId)
    if (endpoint !== null) this.#endpoints.set(hint.leaderId, { nodeId: hint.leaderId, ...endpoint })
    return hint
  }

  nodeEndpoints(): Hinted[] {
    return [...this.#endpoints.values()]
  }
}

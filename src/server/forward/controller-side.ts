import { type ControllerApi, controllerApis } from '../../controller/shard.ts'
import type { Address } from '../../env/net.ts'
import type { MetadataImage } from '../../metadata/image.ts'
import {
  DescribeQuorum,
  type DescribeQuorumRequest,
  type DescribeQuorumResponse,
} from '../../protocol/apis/describe-quorum.ts'
import { AddRaftVoter } from '../../protocol/apis/add-raft-voter.ts'
import { RemoveRaftVoter } from '../../protocol/apis/remove-raft-voter.ts'
import type { InboundRequest, OutboundResponse } from '../../raft/types.ts'
import type { AnyApi, RequestOf, ResponseOf } from '../../protocol/schema.ts'
import { NoAnswerError, NotControllerError } from '../../quorum/errors.ts'
import type { ForwardedApi } from '../controller-channel.ts'
import { describedIn } from '../handlers/describe-quorum.ts'

/** This node's part in the quorum, as far as requests go. */
export interface QuorumPart {
  /** The newest committed image. */
  readonly image: MetadataImage
  /** Who decides now, as far as this node knows. */
  activeController(): number | null
  /** That one's listener for controllers. */
  leaderAddress(): Address | null
  /** Rejects with `NotControllerError`, `LogUnavailableError`. */
  handle<A extends ControllerApi>(api: A, request: RequestOf<A>, version?: number): Promise<ResponseOf<A>>
  describeQuorum(request: DescribeQuorumRequest): DescribeQuorumResponse
  /** Rejects with `NoAnswerError`. */
  answer(request: InboundRequest, version: number, listener: string): Promise<OutboundResponse>
}

/** What may be asked on behalf of a client, by API key. */
export const forwardedApis: ReadonlyMap<number, AnyApi> = new Map(
  [...controllerApis, AddRaftVoter, RemoveRaftVoter, DescribeQuorum]
    .filter(({ listeners }) => listeners.includes('broker'))
    .map((api): [number, AnyApi] => [api.key, api]),
)

/** This node as a controller: what it decides itself, when it is the active one. */
export class ControllerSide {
  readonly #nodeId: number
  readonly #quorum: QuorumPart
  readonly #listener: string

  /** `listener`: the one of the quorum. */
  constructor(nodeId: number, quorum: QuorumPart, listener: string) {
    this.#listener = listener
    this.#nodeId = nodeId
    this.#quorum = quorum
  }

  /** All that was answered lies before or at this offset of the metadata log. */
  get committedOffset(): number {
    return this.#quorum.image.position.offset
  }

  /** Rejects with `NotControllerError` where another node decides, or none; with `LogUnavailableError`. */
  async decide<A extends ForwardedApi>(api: A, request: RequestOf<A>, version: number): Promise<ResponseOf<A>> {
    if (controllerApis.some(({ key }) => key === api.key)) {
      return (await this.#quorum.handle(api as ControllerApi, request as never, version)) as ResponseOf<A>
    }
    const active = this.#quorum.activeController()
    if (active !== this.#nodeId) throw new NotControllerError(active)
    return (await this.#ofQuorum(api, request, version)) as ResponseOf<A>
  }

  /** What is no decision on metadata, but asked of the leader of its log. */
  async #ofQuorum(api: AnyApi, request: unknown, version: number): Promise<unknown> {
    if (api.key === DescribeQuorum.key) {
      return describedIn(version, this.#quorum.describeQuorum(request as DescribeQuorumRequest))
    }
    try {
      const asked = { api: api.name, body: request } as InboundRequest
      return (await this.#quorum.answer(asked, version, this.#listener)).body
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error
      throw new NotControllerError(null, error.message)
    }
  }
}

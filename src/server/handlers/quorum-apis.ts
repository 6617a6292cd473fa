import { AddRaftVoter } from '../../protocol/apis/add-raft-voter.ts'
import { BeginQuorumEpoch } from '../../protocol/apis/begin-quorum-epoch.ts'
import { EndQuorumEpoch } from '../../protocol/apis/end-quorum-epoch.ts'
import { FetchSnapshot } from '../../protocol/apis/fetch-snapshot.ts'
import { Fetch } from '../../protocol/apis/fetch.ts'
import { RemoveRaftVoter } from '../../protocol/apis/remove-raft-voter.ts'
import { UpdateRaftVoter } from '../../protocol/apis/update-raft-voter.ts'
import { Vote } from '../../protocol/apis/vote.ts'
import type { AnyApi, RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { NoAnswerError } from '../../quorum/errors.ts'
import type { Quorum } from '../../quorum/quorum.ts'
import type { InboundRequest } from '../../raft/types.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'

/** Without the epoch of the follower's last record (12, KIP-595) a fetch of the metadata log cannot be answered. */
const FETCH_VERSION_MIN = 12

/**
 * What the nodes of the quorum, and those who only follow it, ask of each other on the controllers' listener: Vote from 0 to
 * 2, BeginQuorumEpoch, EndQuorumEpoch and FetchSnapshot from 0 to 1, UpdateRaftVoter 0, Fetch from 12 on, of the metadata log
 * only. Also what operators ask: AddRaftVoter from 0 to 1, RemoveRaftVoter 0.
 */
export function quorumApis(quorum: Quorum): ServedApi[] {
  return [
    asked(quorum, Vote, 'Vote'),
    asked(quorum, BeginQuorumEpoch, 'BeginQuorumEpoch'),
    asked(quorum, EndQuorumEpoch, 'EndQuorumEpoch'),
    asked(quorum, Fetch, 'Fetch', [FETCH_VERSION_MIN, Fetch.versions[1]]),
    asked(quorum, FetchSnapshot, 'FetchSnapshot'),
    asked(quorum, AddRaftVoter, 'AddRaftVoter'),
    asked(quorum, RemoveRaftVoter, 'RemoveRaftVoter'),
    asked(quorum, UpdateRaftVoter, 'UpdateRaftVoter'),
  ]
}

function asked<A extends AnyApi>(
  quorum: Quorum,
  api: A,
  name: InboundRequest['api'],
  served: readonly [number, number] = api.versions,
): ServedApi {
  const handle = async (body: RequestOf<A>, call: Call): Promise<ResponseInput<A> | undefined> => {
    const request = { api: name, body } as unknown as InboundRequest
    try {
      const response = await quorum.answer(request, call.version, call.connection.listenerName)
      return response.body as ResponseInput<A>
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error
      call.closeConnection(error.message)
      return undefined
    }
  }
  return serve(api, handle, { served })
}

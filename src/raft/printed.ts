import { errorName } from '../protocol/errors.ts'
import { onlyFetched, onlyPartition, onlySnapshot } from './messages.ts'
import type { Effect, LogPosition, OutboundRequest, OutboundResponse, QuorumRecord } from './types.ts'

/** Effects as scenarios show them: one line each, without what is the same in all. */

export function printed(effect: Effect): string {
  switch (effect.type) {
    case 'persist': {
      const { leaderId, leaderEpoch, votedId } = effect.state
      return `persist epoch=${leaderEpoch}${named('leader', leaderId)}${named('voted', votedId)}`
    }
    case 'send':
      return `send to=${effect.to.nodeId} ${request(effect.request)}`
    case 'respond':
      return `respond ${response(effect.response)}`
    case 'respond-with-records': {
      const { fromOffset, limitOffset } = effect
      return `respond ${response({ api: 'Fetch', body: effect.response })} records=${fromOffset}..${limitOffset}`
    }
    case 'respond-with-snapshot': {
      const { id, position, maxBytes } = effect
      return `respond ${response({ api: 'FetchSnapshot', body: effect.response })} bytes of ${place(id)} from ${position}, at most ${maxBytes}`
    }
    case 'append':
      return `append at=${effect.baseOffset} epoch=${effect.epoch} ${effect.records.map(record).join(' ')}`
    case 'append-fetched':
      return `append-fetched at=${effect.baseOffset} epoch=${effect.epoch}`
    case 'truncate':
      return `truncate ${effect.offset}`
    case 'write-snapshot': {
      const bytes = effect.chunk.reduce((sum, { length }) => sum + length, 0)
      return `write-snapshot ${place(effect.id)} position=${effect.position} bytes=${bytes}${effect.isLast ? ' last' : ''}`
    }
    case 'displaced':
      return `displaced by ${effect.by.host}:${effect.by.port}`
    case 'commit':
      return `commit ${effect.offset}`
    case 'leader-changed': {
      const { epoch, leaderId, epochStartOffset } = effect
      const leads = epochStartOffset === null ? '' : ` it is us, from ${epochStartOffset}`
      return `leader-changed epoch=${epoch} leader=${leaderId ?? 'none'}${leads}`
    }
  }
}

export function place({ offset, epoch }: LogPosition): string {
  return `${offset}@${epoch}`
}

function named(name: string, id: number): string {
  return id < 0 ? '' : ` ${name}=${id}`
}

function record(each: QuorumRecord): string {
  switch (each.type) {
    case 'LeaderChange':
      return `LeaderChange(${each.value.leaderId} by ${each.value.grantingVoters.map(({ voterId }) => voterId)})`
    case 'KRaftVersion':
      return `KRaftVersion(${each.value.kRaftVersion})`
    case 'KRaftVoters':
      return `KRaftVoters(${each.value.voters.map(({ voterId }) => voterId)})`
  }
}

function request({ api, body }: OutboundRequest): string {
  switch (api) {
    case 'Vote': {
      const partition = onlyPartition(body.topics)
      if (partition === null) return api
      const { replicaEpoch, lastOffset, lastOffsetEpoch, preVote } = partition
      return `${preVote ? 'PreVote' : 'Vote'} epoch=${replicaEpoch} log=${lastOffset}@${lastOffsetEpoch}`
    }
    case 'BeginQuorumEpoch':
      return `${api} epoch=${onlyPartition(body.topics)?.leaderEpoch}`
    case 'EndQuorumEpoch': {
      const partition = onlyPartition(body.topics)
      return `${api} epoch=${partition?.leaderEpoch} successors=(${partition?.preferredSuccessors})`
    }
    case 'Fetch': {
      const partition = onlyFetched(body.topics, ({ partition: index }) => index)
      if (partition === null) return api
      const { fetchOffset, lastFetchedEpoch, currentLeaderEpoch, highWatermark } = partition
      return `${api} epoch=${currentLeaderEpoch} log=${fetchOffset}@${lastFetchedEpoch} hw=${highWatermark}`
    }
    case 'FetchSnapshot': {
      const partition = onlySnapshot(body.topics, ({ partition: index }) => index)
      if (partition === null) return api
      const { snapshotId, position, currentLeaderEpoch } = partition
      return `${api} epoch=${currentLeaderEpoch} ${snapshotId.endOffset}@${snapshotId.epoch} position=${position}`
    }
    case 'UpdateRaftVoter':
      return `${api} epoch=${body.currentLeaderEpoch} voter=${body.voterId}`
    case 'ApiVersions':
      return api
  }
}

function response({ api, body }: OutboundResponse): string {
  switch (api) {
    case 'Vote': {
      const partition = onlyPartition(body.topics)
      if (partition === null) return `${api} ${errorName(body.errorCode)}`
      return `${api} ${partition.voteGranted ? 'granted' : 'not granted'}${header(partition)}`
    }
    case 'BeginQuorumEpoch':
    case 'EndQuorumEpoch': {
      const partition = onlyPartition(body.topics)
      return partition === null ? `${api} ${errorName(body.errorCode)}` : `${api}${header(partition)}`
    }
    case 'Fetch': {
      const partition = onlyFetched(body.responses, ({ partitionIndex }) => partitionIndex)
      if (partition === null) return `${api} ${errorName(body.errorCode)}`
      const { errorCode, currentLeader, divergingEpoch, snapshotId, highWatermark } = partition
      const diverging = divergingEpoch.epoch < 0 ? '' : ` diverging=${divergingEpoch.endOffset}@${divergingEpoch.epoch}`
      const snapshot = snapshotId.epoch < 0 ? '' : ` snapshot=${snapshotId.endOffset}@${snapshotId.epoch}`
      return `${api}${header({ errorCode, ...currentLeader })} hw=${highWatermark}${diverging}${snapshot}`
    }
    case 'FetchSnapshot': {
      const partition = onlySnapshot(body.topics, ({ index }) => index)
      if (partition === null) return `${api} ${errorName(body.errorCode)}`
      const { errorCode, currentLeader, size } = partition
      return `${api}${header({ errorCode, ...currentLeader })} size=${size}`
    }
    case 'UpdateRaftVoter':
      return `${api}${header({ errorCode: body.errorCode, ...body.currentLeader })}`
    case 'AddRaftVoter':
    case 'RemoveRaftVoter':
      return `${api} ${errorName(body.errorCode)}${body.errorMessage === null ? '' : `: ${body.errorMessage}`}`
  }
}

function header(fields: {
  readonly errorCode: number
  readonly leaderId: number
  readonly leaderEpoch: number
}): string {
  const error = fields.errorCode === 0 ? '' : ` ${errorName(fields.errorCode)}`
  return `${error} epoch=${fields.leaderEpoch}${named('leader', fields.leaderId)}`
}

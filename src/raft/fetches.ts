import { assert } from '../base/assert.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { answerFetch, type Asking, fetchResponse, refuseFetch, refuseSnapshot, snapshotResponse } from './answers.ts'
import type { Core } from './core.ts'
import { isOtherCluster } from './elections.ts'
import { type LeaderState, type ParkedFetch, partitionOf } from './leader-state.ts'
import { onlyFetched, onlySnapshot } from './messages.ts'
import type { LogPosition } from './types.ts'

/** Fetch and FetchSnapshot as the leader, or who is taken for it, is asked them. */

/** For requests that only the leader of their epoch may answer. */
export function leaderOnly(core: Core, epoch: number): number | null {
  if (epoch < core.epoch) return ErrorCode.FENCED_LEADER_EPOCH
  if (epoch > core.epoch) return ErrorCode.UNKNOWN_LEADER_EPOCH
  if (core.role.type !== 'leader') return ErrorCode.NOT_LEADER_OR_FOLLOWER
  return core.isShuttingDown ? ErrorCode.BROKER_NOT_AVAILABLE : null
}

export function onFetch(core: Core, asking: Asking<'Fetch'>): void {
  const { body, version } = asking
  if (isOtherCluster(core, body.clusterId)) return refuseFetch(core, asking, ErrorCode.INCONSISTENT_CLUSTER_ID)
  const partition = onlyFetched(body.topics, ({ partition: index }) => index)
  if (partition === null) return refuseFetch(core, asking, ErrorCode.INVALID_REQUEST)
  const { fetchOffset, lastFetchedEpoch, currentLeaderEpoch } = partition
  if (body.maxWaitMs < 0 || fetchOffset < 0 || lastFetchedEpoch < 0 || lastFetchedEpoch > currentLeaderEpoch) {
    return answerFetch(core, asking, { errorCode: ErrorCode.INVALID_REQUEST })
  }
  const replicaId = version >= 15 ? body.replicaState.replicaId : body.replicaId
  const replica = { id: replicaId, directoryId: partition.replicaDirectoryId }
  const { ticket, listener } = asking
  answerOrPark(core, { ticket, version, listener, request: body, replica, untilMs: core.nowMs + body.maxWaitMs }, true)
}

/**
 * Answers when there is anything to tell, or no time to wait for it. Only a fetch that comes in (`isNew`) is a sign of
 * life: who sent one that was parked may be gone by now.
 */
function answerOrPark(core: Core, asked: ParkedFetch, isNew: boolean): void {
  const { replica, request, untilMs } = asked
  const partition = partitionOf(request)
  const errorCode = leaderOnly(core, partition.currentLeaderEpoch)
  const { role } = core
  if (errorCode !== null || role.type !== 'leader') {
    return answerFetch(core, asked, { errorCode: errorCode ?? ErrorCode.NOT_LEADER_OR_FOLLOWER })
  }
  if (replica.id === core.self.id) return answerFetch(core, asked, { errorCode: ErrorCode.INVALID_REQUEST })
  const place = placeOf(core, partition)
  if (place !== null) {
    const highWatermark = role.state.highWatermark ?? -1
    return answerFetch(core, asked, { errorCode: ErrorCode.NONE, highWatermark, ...place })
  }
  const { fetchOffset } = partition
  if (isNew && replica.id >= 0) {
    role.state.recordFetch(replica, fetchOffset, core.log.endOffset, core.nowMs)
    raiseLeaderHighWatermark(core)
  }
  const highWatermark = role.state.highWatermark ?? -1
  // The follower is told at once of a high watermark it does not know (KIP-1166).
  const isNews = highWatermark > Math.max(partition.highWatermark, -1) || fetchOffset < core.log.endOffset
  if (isNews || untilMs <= core.nowMs) {
    return core.effect({
      type: 'respond-with-records',
      ticket: asked.ticket,
      response: fetchResponse(core, asked, { errorCode: ErrorCode.NONE, highWatermark }),
      fromOffset: fetchOffset,
      limitOffset: core.log.endOffset,
      maxBytes: Math.min(request.maxBytes, partition.partitionMaxBytes),
    })
  }
  const replaced = role.state.park(asked)
  // A replica asks again only when it has given up on the last answer.
  if (replaced !== null) answerFetch(core, replaced, { errorCode: ErrorCode.NONE, highWatermark })
}

/** Where the follower has to go first, when its log is not a prefix of ours; null when it is. */
function placeOf(
  core: Core,
  { fetchOffset, lastFetchedEpoch }: ReturnType<typeof partitionOf>,
): { readonly diverging: LogPosition } | { readonly snapshot: LogPosition } | null {
  const { log } = core
  const { earliestSnapshot, latestSnapshot } = log
  if (fetchOffset === 0) {
    // Loading a snapshot is always faster than the log from its beginning. The one that a cluster begins with is not
    // replicated: its content is in the log.
    if (latestSnapshot !== null && latestSnapshot.offset > 0) return { snapshot: latestSnapshot }
    if (log.startOffset === 0) return null
  }
  const isBehind =
    earliestSnapshot !== null &&
    earliestSnapshot.offset > 0 &&
    (fetchOffset < log.startOffset ||
      (fetchOffset === log.startOffset && lastFetchedEpoch !== earliestSnapshot.epoch) ||
      lastFetchedEpoch < earliestSnapshot.epoch)
  if (isBehind) {
    assert(latestSnapshot !== null, `a log that begins at ${log.startOffset} without a snapshot`)
    return { snapshot: latestSnapshot }
  }
  const end = log.endOffsetForEpoch(lastFetchedEpoch)
  if (core.mutations.divergenceIgnored === true && fetchOffset <= log.endOffset) return null
  return end.epoch !== lastFetchedEpoch || end.offset < fetchOffset ? { diverging: end } : null
}

/** Something may have come to tell, or waiting was long enough. */
export function answerParked(core: Core, state: LeaderState): void {
  for (const parked of state.unpark(core.log.endOffset, core.nowMs)) answerOrPark(core, parked, false)
}

/** This node leads no more: the fetches are to go elsewhere. */
export function refuseParked(core: Core, state: LeaderState): void {
  for (const fetch of state.unparkAll()) answerFetch(core, fetch, { errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER })
}

/** A majority may hold more than before. */
export function raiseLeaderHighWatermark(core: Core): void {
  const { role } = core
  if (role.type !== 'leader') return
  const own = core.mutations.leaderCountsUnflushed === true ? core.log.endOffset : core.durableOffset
  const offset = role.state.majorityOffset(own, core.mutations.oldEpochsCounted)
  // It can be lower after the voter set changed; what is committed stays so.
  if (offset === null || offset <= (role.state.highWatermark ?? -1)) return
  role.state.highWatermark = offset
  core.raiseHighWatermark(offset)
}

export function onFetchSnapshot(core: Core, asking: Asking<'FetchSnapshot'>): void {
  const { body } = asking
  if (isOtherCluster(core, body.clusterId)) return refuseSnapshot(core, asking, ErrorCode.INCONSISTENT_CLUSTER_ID)
  const partition = onlySnapshot(body.topics, ({ partition: index }) => index)
  if (partition === null) return refuseSnapshot(core, asking, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
  const { currentLeaderEpoch, snapshotId, position, replicaDirectoryId } = partition
  const id = { offset: snapshotId.endOffset, epoch: snapshotId.epoch }
  const size = id.offset > 0 ? core.log.snapshotBytes(id) : null
  const errorCode = leaderOnly(core, currentLeaderEpoch) ?? snapshotRefusal(size, position)
  if (errorCode !== null || size === null || core.role.type !== 'leader') {
    const response = snapshotResponse(core, asking, { errorCode: errorCode ?? ErrorCode.SNAPSHOT_NOT_FOUND })
    return core.respond(asking.ticket, { api: 'FetchSnapshot', body: response })
  }
  const replica = { id: body.replicaId, directoryId: replicaDirectoryId }
  if (replica.id >= 0 && replica.id !== core.self.id) core.role.state.recordContact(replica, core.nowMs)
  core.effect({
    type: 'respond-with-snapshot',
    ticket: asking.ticket,
    response: snapshotResponse(core, asking, { errorCode: ErrorCode.NONE, id, size, position }),
    id,
    position,
    maxBytes: Math.max(1, body.maxBytes),
  })
}

function snapshotRefusal(size: number | null, position: number): number | null {
  if (size === null) return ErrorCode.SNAPSHOT_NOT_FOUND
  return position < 0 || position >= size ? ErrorCode.POSITION_OUT_OF_RANGE : null
}

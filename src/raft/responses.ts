import { assert } from '../base/assert.ts'
import type { FetchSnapshotResponse } from '../protocol/apis/fetch-snapshot.ts'
import type { FetchResponse } from '../protocol/apis/fetch.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { InFlight } from './connections.ts'
import type { Core } from './core.ts'
import { learnLeader, onPeerLost } from './elections.ts'
import { onlyFetched, onlyPartition, onlySnapshot } from './messages.ts'
import { isPlace, onOccupied, onPlaceAnswered } from './place.ts'
import type { Follower } from './roles.ts'
import type { Endpoint, InboundResponse, LogPosition } from './types.ts'
import { onApiVersions } from './voter-changes.ts'

/** What every answer of a peer says of the quorum. */
interface Header {
  readonly errorCode: number
  readonly leaderId: number
  readonly leaderEpoch: number
  readonly endpoints: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[]
}

/**
 * An answer that was waited for. A peer that had nothing good to say is left alone for a while, unless what it said
 * changed our role.
 */
export function onResponse(core: Core, correlationId: number, sent: InFlight, response: InboundResponse): void {
  const { transitions } = core
  const isGood = handle(core, correlationId, sent, response)
  if (!isGood && core.transitions === transitions) core.connections.backOff(sent.to.nodeId, core.nowMs)
}

function handle(core: Core, correlationId: number, sent: InFlight, response: InboundResponse): boolean {
  switch (response.api) {
    case 'ApiVersions':
      onApiVersions(core, correlationId, response.body)
      return response.body.errorCode === ErrorCode.NONE
    case 'Vote': {
      const partition = onlyPartition(response.body.topics)
      if (isPlace(sent.to)) onPlaceAnswered(core, response.body.errorCode || (partition?.errorCode ?? null))
      if (!isAbout(core, response.body, partition) || isPlace(sent.to)) return false
      if (partition?.errorCode !== ErrorCode.NONE) return false
      onVoteAnswered(core, sent, partition.voteGranted)
      return true
    }
    case 'BeginQuorumEpoch': {
      const partition = onlyPartition(response.body.topics)
      return isAbout(core, response.body, partition) && partition?.errorCode === ErrorCode.NONE
    }
    case 'EndQuorumEpoch': {
      const partition = onlyPartition(response.body.topics)
      if (!isAbout(core, response.body, partition) || partition?.errorCode !== ErrorCode.NONE) return false
      if (core.role.type === 'resigned') core.role.unacknowledged.delete(sent.to.nodeId)
      return true
    }
    case 'UpdateRaftVoter': {
      const { errorCode, currentLeader } = response.body
      const { leaderId, leaderEpoch, host, port } = currentLeader
      const endpoints = host === '' ? [] : [{ nodeId: leaderId, host, port }]
      if (errorCode === ErrorCode.DUPLICATE_VOTER) onOccupied(core)
      return isUsable(core, { errorCode, leaderId, leaderEpoch, endpoints }) && errorCode === ErrorCode.NONE
    }
    case 'Fetch':
      return onFetched(core, sent, response.body)
    case 'FetchSnapshot':
      return onSnapshotFetched(core, response.body)
  }
}

function isAbout(
  core: Core,
  body: { readonly errorCode: number; readonly nodeEndpoints: Header['endpoints'] },
  partition: { readonly errorCode: number; readonly leaderId: number; readonly leaderEpoch: number } | null,
): boolean {
  if (body.errorCode !== ErrorCode.NONE || partition === null) return false
  return isUsable(core, { ...partition, endpoints: body.nodeEndpoints })
}

/** Takes what an answer says of leader and epoch. Whether the rest of it is to be read. */
function isUsable(core: Core, header: Header): boolean {
  const { errorCode, leaderId, leaderEpoch } = header
  if (leaderEpoch < core.epoch || errorCode === ErrorCode.UNKNOWN_LEADER_EPOCH) return false
  const leader = leaderId < 0 ? null : { id: leaderId, endpoints: endpointsOf(core, header) }
  if (leaderEpoch > core.epoch) {
    learnLeader(core, leader, leaderEpoch)
    return false
  }
  return learnLeader(core, leader, leaderEpoch)
}

function endpointsOf(core: Core, { leaderId, endpoints }: Header): readonly Endpoint[] {
  const told = endpoints.find(({ nodeId }) => nodeId === leaderId)
  if (told === undefined) return core.voters.endpointsOf(leaderId)
  return [{ name: core.options.listener, host: told.host, port: told.port }]
}

function onVoteAnswered(core: Core, { to, preVote }: InFlight, isGranted: boolean): void {
  const { role } = core
  if (role.type === 'prospective' && preVote) {
    role.tally.record(to.nodeId, isGranted)
    if (role.tally.isWon) core.becomeCandidate()
    else if (role.tally.isLost) core.giveUpPreVote()
  } else if (role.type === 'candidate' && !preVote) {
    role.tally.record(to.nodeId, isGranted)
    // One that has lost waits for its deadline: time in which another one may win.
    if (role.tally.isWon) core.becomeLeader(role.tally.granting)
  }
}

function onFetched(core: Core, { to, fetchOffset }: InFlight, body: FetchResponse): boolean {
  const partition = onlyFetched(body.responses, ({ partitionIndex }) => partitionIndex)
  if (body.errorCode !== ErrorCode.NONE || partition === null) return false
  const { errorCode, currentLeader } = partition
  if (!isUsable(core, { errorCode, ...currentLeader, endpoints: body.nodeEndpoints })) return false
  const { role } = core
  if (role.type !== 'follower') return false
  // By its own word it leads this epoch no more: it was started anew, as all were after a power cut, perhaps.
  if (errorCode === ErrorCode.NOT_LEADER_OR_FOLLOWER && to.nodeId === role.leader.id) onPeerLost(core, to.nodeId, true)
  if (errorCode !== ErrorCode.NONE) return false
  // Two fetches were on their way, to the leader and to whoever might know a newer one: the log has moved on.
  if (core.logWork !== null || core.log.endOffset !== fetchOffset) return true
  touch(core, role)
  const { divergingEpoch, snapshotId, highWatermark, records } = partition
  if (divergingEpoch.epoch >= 0) {
    truncate(core, { offset: divergingEpoch.endOffset, epoch: divergingEpoch.epoch })
    return true
  }
  if (snapshotId.epoch >= 0 || snapshotId.endOffset >= 0) {
    return beginSnapshot(core, role, { offset: snapshotId.endOffset, epoch: snapshotId.epoch })
  }
  if (records !== null && records.some((buffer) => buffer.length > 0)) {
    core.logWork = 'append'
    core.fetched = { baseOffset: fetchOffset, highWatermark }
    core.effect({ type: 'append-fetched', epoch: core.epoch, baseOffset: fetchOffset, records })
  } else core.raiseHighWatermark(Math.min(core.log.endOffset, highWatermark))
  return true
}

/** The leader is there. */
function touch(core: Core, role: Follower): void {
  core.leaderHeardMs = core.nowMs
  role.fetchDeadlineMs = core.nowMs + core.options.fetchTimeoutMs
  role.hasFetched = true
}

/** Cuts off what the leader does not have: at most what it says, and no more than our own epochs allow (KIP-101, KIP-595). */
function truncate(core: Core, leaderEnd: LogPosition): void {
  const own = core.log.endOffsetForEpoch(leaderEnd.epoch)
  const agreed = own.epoch === leaderEnd.epoch ? Math.min(own.offset, leaderEnd.offset) : own.offset
  const offset = core.mutations.truncatedToHighWatermark === true ? core.highWatermark : agreed
  // A majority lost its disks, or another cluster took over our name: what we told to be committed must not vanish.
  assert(offset >= core.highWatermark, `the leader wants a cut at ${offset}, ${core.highWatermark} is committed`)
  assert(offset < core.log.endOffset, `a cut at ${offset} of a log that ends at ${core.log.endOffset}`)
  core.logWork = 'truncation'
  core.durableOffset = Math.min(core.durableOffset, offset)
  if (core.mutations.votersKeptOnTruncation !== true) core.history.truncateTo(offset)
  core.effect({ type: 'truncate', offset })
}

function beginSnapshot(core: Core, role: Follower, id: LogPosition): boolean {
  // What we know to be committed is not given up for less.
  if (id.epoch < 0 || id.offset < core.highWatermark) return false
  const { snapshot } = role
  const isInWork = snapshot?.id.offset === id.offset && snapshot.id.epoch === id.epoch
  if (!isInWork) role.snapshot = { id, position: 0 }
  return true
}

function onSnapshotFetched(core: Core, body: FetchSnapshotResponse): boolean {
  const partition = onlySnapshot(body.topics, ({ index }) => index)
  if (body.errorCode !== ErrorCode.NONE || partition === null) return false
  const { errorCode, currentLeader } = partition
  if (!isUsable(core, { errorCode, ...currentLeader, endpoints: body.nodeEndpoints })) return false
  const { role } = core
  if (role.type !== 'follower' || role.snapshot === null || core.logWork !== null) return false
  touch(core, role)
  const { id, position } = role.snapshot
  const { snapshotId, unalignedRecords, size } = partition
  const bytes = unalignedRecords.reduce((sum, { length }) => sum + length, 0)
  const isNext =
    errorCode === ErrorCode.NONE &&
    snapshotId.endOffset === id.offset &&
    snapshotId.epoch === id.epoch &&
    partition.position === position &&
    bytes > 0 &&
    position + bytes <= size
  if (!isNext) {
    // The leader has a newer one by now: the next fetch will tell.
    role.snapshot = null
    return false
  }
  role.snapshot.position += bytes
  const isLast = role.snapshot.position === size
  if (isLast) core.logWork = 'snapshot'
  core.effect({ type: 'write-snapshot', id, position, chunk: unalignedRecords, isLast })
  return true
}

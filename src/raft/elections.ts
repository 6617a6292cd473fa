import { ErrorCode } from '../protocol/errors.ts'
import { answerEpoch, answerVote, type Asking, refuseEpoch, refuseVote } from './answers.ts'
import type { Core } from './core.ts'
import { onlyPartition } from './messages.ts'
import { grantsVote, type LeaderInfo } from './roles.ts'
import { isOwnProbe } from './place.ts'
import { type Endpoint, type LogPosition, NO_DIRECTORY, type ReplicaKey } from './types.ts'

/** Vote, BeginQuorumEpoch and EndQuorumEpoch as one is asked them. */

/** Null when a node that gives no cluster is taken for one of ours, as Kafka does. */
export function isOtherCluster(core: Core, clusterId: string | null): boolean {
  return clusterId !== null && clusterId !== core.options.clusterId
}

/** No node misses so many elections. Epochs would run out if a single request could take all that are left. */
const EPOCH_JUMP_MAX = 2 ** 24

/** For requests between voters. */
function refusal(core: Core, senderId: number, epoch: number): number | null {
  if (epoch < core.epoch) return ErrorCode.FENCED_LEADER_EPOCH
  if (epoch > core.epoch + EPOCH_JUMP_MAX) return ErrorCode.INVALID_REQUEST
  return senderId < 0 ? ErrorCode.INVALID_REQUEST : null
}

/** Whether a request was meant for this replica: a wiped disk must not vote for the one before it (KIP-853). */
function isMeantForUs(core: Core, voterId: number, directoryId: string): boolean {
  if (voterId < 0) return true
  if (voterId !== core.self.id) return false
  return core.mutations.directoryIgnored === true || isUnnamed(directoryId) || directoryId === core.self.directoryId
}

function isUnnamed(directoryId: string): boolean {
  return directoryId === NO_DIRECTORY
}

function isAtLeast(one: LogPosition, other: LogPosition): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.offset >= other.offset)
}

export function onVote(core: Core, asking: Asking<'Vote'>): void {
  const { body } = asking
  if (isOtherCluster(core, body.clusterId)) return refuseVote(core, asking, ErrorCode.INCONSISTENT_CLUSTER_ID)
  const partition = onlyPartition(body.topics)
  if (partition === null) return refuseVote(core, asking, ErrorCode.INVALID_REQUEST)
  const { replicaEpoch, replicaId, replicaDirectoryId, lastOffset, lastOffsetEpoch, preVote } = partition
  // A candidate stands in a new epoch, which nobody can have written in; who merely asks is still in its old one.
  const isTooNew = preVote ? lastOffsetEpoch > replicaEpoch : lastOffsetEpoch >= replicaEpoch
  if (lastOffset < 0 || lastOffsetEpoch < 0 || isTooNew) return answerVote(core, asking, ErrorCode.INVALID_REQUEST)
  const refused = refusal(core, replicaId, replicaEpoch)
  if (refused !== null) return answerVote(core, asking, refused)
  if (isOwnProbe(core, replicaDirectoryId)) core.reached()
  if (replicaEpoch > core.epoch) core.becomeUnattached(replicaEpoch, null)
  // While it is open whether another process is this voter, that one has the vote.
  if (core.elsewhere !== null || !isMeantForUs(core, body.voterId, partition.voterDirectoryId)) {
    return answerVote(core, asking, ErrorCode.INVALID_VOTER_KEY)
  }
  const candidate: ReplicaKey = { id: replicaId, directoryId: replicaDirectoryId }
  const log = { offset: lastOffset, epoch: lastOffsetEpoch }
  const isUpToDate = isAtLeast(log, core.end) || core.mutations.logNotComparedForVote === true
  const isGranted = grantsVote(core.role, core.voted, { candidate, preVote, isUpToDate })
  if (isGranted && !preVote && core.voted === null) core.voteFor(candidate)
  if (isGranted && preVote) letStand(core)
  answerVote(core, asking, ErrorCode.NONE, isGranted)
}

/** Somebody stands who can win: this node does not take votes from it meanwhile. */
function letStand(core: Core): void {
  const { role } = core
  if (role.type !== 'follower') return
  core.goneAgainMs = Math.max(core.goneAgainMs, core.nowMs + core.options.electionTimeoutMs / 2)
  role.fetchDeadlineMs = Math.max(role.fetchDeadlineMs, core.goneAgainMs)
}

export function onBeginQuorumEpoch(core: Core, asking: Asking<'BeginQuorumEpoch'>): void {
  const { body } = asking
  if (isOtherCluster(core, body.clusterId)) {
    return refuseEpoch(core, asking, 'BeginQuorumEpoch', ErrorCode.INCONSISTENT_CLUSTER_ID)
  }
  const partition = onlyPartition(body.topics)
  if (partition === null) return refuseEpoch(core, asking, 'BeginQuorumEpoch', ErrorCode.INVALID_REQUEST)
  const { leaderId, leaderEpoch, voterDirectoryId } = partition
  const refused = refusal(core, leaderId, leaderEpoch) ?? learnFromRequest(core, leaderId, leaderEpoch, body)
  if (refused !== null) return answerEpoch(core, asking, 'BeginQuorumEpoch', refused)
  const isOurs = isMeantForUs(core, body.voterId, voterDirectoryId)
  answerEpoch(core, asking, 'BeginQuorumEpoch', isOurs ? ErrorCode.NONE : ErrorCode.INVALID_VOTER_KEY)
}

export function onEndQuorumEpoch(core: Core, asking: Asking<'EndQuorumEpoch'>): void {
  const { body } = asking
  if (isOtherCluster(core, body.clusterId)) {
    return refuseEpoch(core, asking, 'EndQuorumEpoch', ErrorCode.INCONSISTENT_CLUSTER_ID)
  }
  const partition = onlyPartition(body.topics)
  if (partition === null) return refuseEpoch(core, asking, 'EndQuorumEpoch', ErrorCode.INVALID_REQUEST)
  const { leaderId, leaderEpoch } = partition
  const refused = refusal(core, leaderId, leaderEpoch) ?? learnFromRequest(core, leaderId, leaderEpoch, body)
  if (refused !== null) return answerEpoch(core, asking, 'EndQuorumEpoch', refused)
  const { role } = core
  if (role.type === 'follower' && role.leader.id === leaderId) {
    const { preferredCandidates, preferredSuccessors } = partition
    const ids = preferredCandidates.map(({ candidateId, candidateDirectoryId }) => {
      const isSelf = isUnnamed(candidateDirectoryId) || candidateDirectoryId === core.self.directoryId
      return isSelf ? candidateId : -1
    })
    const order = asking.version === 0 ? preferredSuccessors : ids
    role.fetchDeadlineMs = core.nowMs + successorDelayMs(core, order.indexOf(core.self.id), order.length)
    // The leader is gone by its own word: others may be helped against it at once.
    role.hasFetched = false
  }
  answerEpoch(core, asking, 'EndQuorumEpoch', ErrorCode.NONE)
}

/** The first stands at once; each next one waits twice as long as the one before (KIP-595). */
function successorDelayMs(core: Core, position: number, count: number): number {
  const { electionBackoffMaxMs } = core.options
  if (position === 0) return 0
  if (position < 0) return electionBackoffMaxMs
  const baseMs = electionBackoffMaxMs / 2 ** (count - 1)
  return Math.min(electionBackoffMaxMs, Math.floor(baseMs * 2 ** (position - 1)))
}

/** Between two voters that notice the same death: the first is to win before the second asks for the same votes. */
const GONE_STAGGER_MS = 30

/**
 * A peer does not answer. A follower whose leader that is is willing to help others against it, until it is heard again.
 * Where nobody listens any more (`isGone`) the follower need not wait until the leader has been silent long enough: it
 * stands soon, the voters one after the other. Wherever that was wrong, the pre-vote of those who still hear the leader
 * says so, and the next attempt is not made at once.
 */
export function onPeerLost(core: Core, nodeId: number, isGone: boolean): void {
  const { role } = core
  // Its vote will not come: where that decides the pre-vote, it is better asked again than waited for.
  if (isGone && role.type === 'prospective' && role.leader?.id === nodeId) role.tally.record(nodeId, false)
  if (role.type !== 'follower' || role.leader.id !== nodeId || !core.isVoter) return
  role.hasFetched = false
  if (!isGone) return
  const rank = core.voters.ids.filter((id) => id !== nodeId).indexOf(core.self.id)
  const standMs = Math.max(core.nowMs + Math.max(rank, 0) * GONE_STAGGER_MS, core.goneAgainMs)
  core.goneAgainMs = standMs + core.options.electionTimeoutMs / 4
  role.fetchDeadlineMs = Math.min(role.fetchDeadlineMs, standMs)
}

function learnFromRequest(
  core: Core,
  leaderId: number,
  epoch: number,
  { leaderEndpoints }: { readonly leaderEndpoints: readonly Endpoint[] },
): number | null {
  const endpoints = leaderEndpoints.length > 0 ? leaderEndpoints : core.voters.endpointsOf(leaderId)
  return learnLeader(core, { id: leaderId, endpoints }, epoch) ? null : ErrorCode.INVALID_REQUEST
}

/**
 * Someone says who leads `epoch`, which is not older than ours; null: nobody does. False when it contradicts what is
 * known, which only a confused or hostile peer can do.
 */
export function learnLeader(core: Core, leader: LeaderInfo | null, epoch: number): boolean {
  if (leader?.id === core.self.id) {
    if (epoch > core.epoch) core.becomeUnattached(epoch, null)
    return core.leaderId === leader.id
  }
  if (epoch > core.epoch) {
    if (leader !== null && leader.endpoints.length > 0) core.becomeFollower(epoch, leader)
    else core.becomeUnattached(epoch, leader?.id ?? null)
    return true
  }
  if (leader === null || leader.id === core.leaderId) return learnEndpoints(core, leader, epoch)
  if (core.leaderId !== null) return false
  if (leader.endpoints.length > 0) core.becomeFollower(epoch, leader)
  else if (core.role.type === 'unattached') core.becomeUnattached(epoch, leader.id)
  return true
}

/** The leader is known already; now perhaps also (more of) where it is reached. */
function learnEndpoints(core: Core, leader: LeaderInfo | null, epoch: number): boolean {
  const { role } = core
  const isNews = leader !== null && leader.endpoints.length > core.leaderEndpoints.length
  if (isNews && (role.type === 'unattached' || role.type === 'follower')) core.becomeFollower(epoch, leader)
  if (isNews && role.type === 'prospective') core.becomeFollower(epoch, leader)
  return true
}

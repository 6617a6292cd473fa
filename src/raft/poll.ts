import { assert } from '../base/assert.ts'
import type { Core } from './core.ts'
import { answerParked, raiseLeaderHighWatermark } from './fetches.ts'
import type { LeaderState } from './leader-state.ts'
import {
  beginQuorumEpochRequest,
  endQuorumEpochRequest,
  fetchRequest,
  fetchSnapshotRequest,
  voteRequest,
} from './messages.ts'
import type { Candidate, Follower, Prospective, Resigned, Unattached } from './roles.ts'
import type { Destination } from './types.ts'
import { probePlace } from './place.ts'
import { advanceVoterChange } from './voter-changes.ts'
import { sameVoter } from './voter-set.ts'

/** From role to role within one moment: more than this is a circle. */
const TRANSITIONS_MAX = 8
/** Ids of bootstrap servers, whose real ids are not known: -2, -3, and so on. */
const FIRST_BOOTSTRAP_ID = -2

/** What is due now, by time or because an input made it possible: sends requests, changes roles. */
export function poll(core: Core): void {
  core.connections.expire(core.nowMs)
  probePlace(core)
  for (let turn = 0; ; turn++) {
    assert(turn < TRANSITIONS_MAX, `roles go round in a circle: ${core.role.type}`)
    const { transitions } = core
    pollRole(core)
    if (core.transitions === transitions) return
  }
}

function pollRole(core: Core): void {
  const { role } = core
  switch (role.type) {
    case 'unattached':
      return pollUnattached(core, role)
    case 'prospective':
      return pollProspective(core, role)
    case 'candidate':
      return pollCandidate(core, role)
    case 'follower':
      return pollFollower(core, role)
    case 'leader':
      return pollLeader(core, role.state)
    case 'resigned':
      return pollResigned(core, role)
  }
}

function pollUnattached(core: Core, role: Unattached): void {
  if (core.isShuttingDown) return
  if (core.isVoter && core.nowMs >= role.deadlineMs) return core.becomeProspective()
  askAnyone(core)
}

function pollProspective(core: Core, role: Prospective): void {
  if (core.isShuttingDown || core.nowMs >= role.deadlineMs || role.tally.isLost) return core.giveUpPreVote()
  sendVotes(core, role, true)
}

function pollCandidate(core: Core, role: Candidate): void {
  if (core.isShuttingDown) return
  if (core.nowMs >= role.deadlineMs) return core.becomeProspective()
  if (!role.tally.isLost) sendVotes(core, role, false)
}

function sendVotes(core: Core, { tally }: Prospective | Candidate, preVote: boolean): void {
  const { clusterId } = core.options
  for (const id of tally.open) {
    const voter = tally.voters.byId(id)
    const to = core.destinationOf(id, voter?.endpoints ?? [])
    if (to === null || voter === null) continue
    const key = { id, directoryId: voter.voterDirectoryId }
    const { epoch, self: candidate, end: log } = core
    core.send(to, { api: 'Vote', body: voteRequest({ clusterId, epoch, candidate, voter: key, log, preVote }) })
  }
}

function pollFollower(core: Core, role: Follower): void {
  if (core.isShuttingDown) return
  const isLate = core.nowMs >= role.fetchDeadlineMs
  if (isLate && core.isVoter) return core.becomeProspective()
  const leader = core.destinationOf(role.leader.id, role.leader.endpoints)
  if (leader === null || (!core.isVoter && shouldAskAround(core, role, leader, isLate))) return askAnyone(core)
  // A fetch is on its way nearly always: the next request is then this one.
  if (!core.connections.isReady(leader.nodeId)) return
  const isElsewhere = core.elsewhere !== null
  if ((core.isVoter || isElsewhere) && core.nowMs >= role.updateVoterMs) {
    role.updateVoterMs = core.nowMs + core.options.fetchTimeoutMs * (isElsewhere ? 0.5 : 3)
    if (needsUpdate(core)) return sendUpdate(core, leader)
  }
  if (!core.isReadyToFetch) return
  if (role.snapshot === null) return sendFetch(core, leader)
  const { id, position } = role.snapshot
  const { clusterId, snapshotBytesMax: maxBytes } = core.options
  const { epoch, fetchKey: self } = core
  core.send(leader, {
    api: 'FetchSnapshot',
    body: fetchSnapshotRequest({ clusterId, epoch, self, id, position, maxBytes }),
  })
}

/**
 * An observer takes part in no election: when the leader fails it asks around until someone knows who won. While it loads
 * a snapshot it gives the leader more time, since any other answer would only name that snapshot again.
 */
function shouldAskAround(core: Core, role: Follower, leader: Destination, isLate: boolean): boolean {
  return isLate || (core.connections.isBackingOff(leader.nodeId) && role.snapshot === null)
}

/** The voter set has other endpoints for this node than it has now. */
function needsUpdate(core: Core): boolean {
  const listed = core.voters.byId(core.self.id)
  return core.history.kraftVersion > 0 && listed !== null && !sameVoter(listed, core.selfAsVoter)
}

function sendUpdate(core: Core, leader: Destination): void {
  const { clusterId, endpoints: listeners, kraftVersions: kRaftVersionFeature } = core.options
  const body = {
    clusterId,
    currentLeaderEpoch: core.epoch,
    voterId: core.self.id,
    voterDirectoryId: core.self.directoryId,
    listeners,
    kRaftVersionFeature,
    isElsewhere: core.elsewhere !== null,
  }
  core.send(leader, { api: 'UpdateRaftVoter', body })
}

function sendFetch(core: Core, to: Destination): void {
  const { clusterId, fetchBytesMax: maxBytes, fetchMaxWaitMs: maxWaitMs } = core.options
  const { epoch, fetchKey: self, end, highWatermark } = core
  const logStartOffset = core.log.startOffset
  const body = fetchRequest({
    clusterId,
    epoch,
    self,
    log: end,
    logStartOffset,
    highWatermark,
    maxBytes,
    maxWaitMs,
  })
  core.send(to, { api: 'Fetch', body })
}

/** Fetches from anyone: the leader answers with records, the others with who leads. One at a time, and not in a hurry. */
function askAnyone(core: Core): void {
  if (core.connections.anyWaiting || !core.isReadyToFetch || core.nowMs < core.askAgainMs) return
  const { bootstrap, endpoints, random, retryBackoffMs } = core.options
  const servers = bootstrap
    .map(({ host, port }, index) => ({ nodeId: FIRST_BOOTSTRAP_ID - index, host, port }))
    .filter(({ host, port }) => !endpoints.some((own) => own.host === host && own.port === port))
  const voters = core.voters.ids.filter((id) => id !== core.self.id).map((id) => core.destinationOf(id))
  const ready = [...servers, ...voters].filter((to) => to !== null && core.connections.isReady(to.nodeId))
  const to = ready.length === 0 ? null : random.pick(ready)
  if (to === null) return
  core.askAgainMs = core.nowMs + retryBackoffMs
  sendFetch(core, to)
}

function pollLeader(core: Core, state: LeaderState): void {
  core.leaderHeardMs = core.nowMs
  raiseLeaderHighWatermark(core)
  advanceVoterChange(core, state)
  answerParked(core, state)
  if (core.isShuttingDown || state.isResignRequested || state.hasLostQuorum(core.nowMs)) return core.becomeResigned()
  if (core.nowMs < state.announceMs) return
  const { fetchTimeoutMs, clusterId, endpoints } = core.options
  state.announceMs = core.nowMs + fetchTimeoutMs / 2
  for (const voter of state.silentSince(core.nowMs - fetchTimeoutMs / 2)) {
    const to = core.destinationOf(voter.id)
    if (to === null) continue
    const { epoch } = core
    const request = beginQuorumEpochRequest({ clusterId, epoch, leaderId: core.self.id, voter, endpoints })
    core.send(to, { api: 'BeginQuorumEpoch', body: request })
  }
}

function pollResigned(core: Core, role: Resigned): void {
  // A new epoch, so that nobody is told any more that this node leads.
  if (!core.isShuttingDown && core.nowMs >= role.deadlineMs) return core.becomeUnattached(core.epoch + 1, null)
  const { clusterId, endpoints } = core.options
  for (const id of role.unacknowledged) {
    const to = core.destinationOf(id)
    if (to === null) continue
    const { epoch } = core
    const { successors } = role
    const request = endQuorumEpochRequest({ clusterId, epoch, leaderId: core.self.id, successors, endpoints })
    core.send(to, { api: 'EndQuorumEpoch', body: request })
  }
}

/** When the next tick may do something; Infinity when never. */
export function nextDeadlineMs(core: Core): number {
  const deadlines = [core.connections.nextDeadlineMs(), core.askAgainMs, core.probeAgainMs, ...deadlinesOf(core)]
  // One that has passed and changed nothing (a late observer, who asks around) does not come again.
  return Math.min(Number.POSITIVE_INFINITY, ...deadlines.filter((deadlineMs) => deadlineMs > core.nowMs))
}

function deadlinesOf({ role }: Core): readonly number[] {
  switch (role.type) {
    case 'unattached':
    case 'prospective':
    case 'candidate':
    case 'resigned':
      return [role.deadlineMs]
    case 'follower':
      return [role.fetchDeadlineMs, role.updateVoterMs]
    case 'leader': {
      const { parkedUntilMs, change, announceMs, nextCheckMs } = role.state
      return [announceMs, nextCheckMs, parkedUntilMs, change?.untilMs ?? Number.POSITIVE_INFINITY]
    }
  }
}

import { ErrorCode, errorName } from '../protocol/errors.ts'
import type { ApiVersionsResponse } from '../protocol/apis/api-versions.ts'
import { answerUpdateVoter, answerVoterChange, type Asking } from './answers.ts'
import type { Core } from './core.ts'
import { isOtherCluster } from './elections.ts'
import { leaderOnly } from './fetches.ts'
import type { LeaderState } from './leader-state.ts'
import { type Endpoint, NO_DIRECTORY, type ReplicaKey, type Ticket, type Voter } from './types.ts'
import { keyOf, sameKey, sameVoter, type VoterSet } from './voter-set.ts'

/** AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter as the leader is asked them (KIP-853). One change at a time. */

interface Refusal {
  readonly errorCode: number
  readonly message: string
}

/** Null when the next change may begin. */
function refusalOfChange(core: Core, state: LeaderState): Refusal | null {
  const { history } = core
  if (history.kraftVersion === 0) {
    return { errorCode: ErrorCode.UNSUPPORTED_VERSION, message: 'kraft.version is 0: voters cannot change' }
  }
  if (core.mutations.changesOverlap === true) return null
  const timedOut = (message: string): Refusal => ({ errorCode: ErrorCode.REQUEST_TIMED_OUT, message })
  if (state.change !== null || core.logWork !== null) return timedOut('the last change of voters is still in work')
  // Without a commit in this epoch an unfinished change of an earlier leader could still come true (the flaw that was
  // found in Raft's single-server changes).
  if (state.highWatermark === null) return timedOut('this leader has not committed anything yet')
  if (history.votersOffset === null || history.votersOffset >= state.highWatermark) {
    return timedOut(`the change of voters at ${history.votersOffset} is not committed yet`)
  }
  return null
}

export function onAddRaftVoter(core: Core, asking: Asking<'AddRaftVoter'>): void {
  const { ticket, body } = asking
  const refuse = (errorCode: number, message: string | null = null) =>
    answerVoterChange(core, 'AddRaftVoter', ticket, errorCode, message)
  if (isOtherCluster(core, body.clusterId)) return refuse(ErrorCode.INCONSISTENT_CLUSTER_ID, otherCluster(core, body))
  const errorCode = leaderOnly(core, core.epoch)
  if (errorCode !== null || core.role.type !== 'leader') return refuse(errorCode ?? ErrorCode.NOT_LEADER_OR_FOLLOWER)
  const key = { id: body.voterId, directoryId: body.voterDirectoryId }
  if (!isWhole(key)) return refuse(ErrorCode.INVALID_REQUEST, 'a voter is an id and a directory id')
  const to = core.destinationOf(key.id, body.listeners)
  if (to === null) {
    return refuse(ErrorCode.INVALID_REQUEST, `the new voter names no endpoint for listener ${core.options.listener}`)
  }
  const { state } = core.role
  const refusal = refusalOfChange(core, state)
  if (refusal !== null) return refuse(refusal.errorCode, refusal.message)
  if (core.voters.byId(key.id) !== null) {
    return refuse(ErrorCode.DUPLICATE_VOTER, `${key.id} is one of the voters ${core.voters}`)
  }
  const about = { clientSoftwareName: 'millrace', clientSoftwareVersion: '1', clusterId: null, nodeId: -1 }
  const correlationId = core.send(to, { api: 'ApiVersions', body: about })
  if (correlationId === null) return refuse(ErrorCode.REQUEST_TIMED_OUT, `voter ${key.id} takes no requests now`)
  const untilMs = core.nowMs + Math.max(0, body.timeoutMs)
  const { listeners: endpoints, ackWhenCommitted } = body
  state.change = { type: 'asking', ticket, key, endpoints, correlationId, ackWhenCommitted, untilMs }
}

function otherCluster(core: Core, { clusterId }: { readonly clusterId: string | null }): string {
  return `the request is for cluster ${clusterId}, this one is ${core.options.clusterId}`
}

function isWhole({ id, directoryId }: ReplicaKey): boolean {
  return id >= 0 && directoryId !== NO_DIRECTORY
}

/** What the new voter can do; null when it did not answer. */
export function onApiVersions(core: Core, correlationId: number, response: ApiVersionsResponse | null): void {
  if (core.role.type !== 'leader') return
  const { state } = core.role
  const { change } = state
  if (change?.type !== 'asking' || change.correlationId !== correlationId) return
  const { ticket, key, endpoints, ackWhenCommitted, untilMs } = change
  const abort = (errorCode: number, message: string) => {
    state.change = null
    answerVoterChange(core, 'AddRaftVoter', ticket, errorCode, message)
  }
  if (response === null || response.errorCode !== ErrorCode.NONE) {
    const reason = response === null ? 'no answer' : errorName(response.errorCode)
    return abort(ErrorCode.REQUEST_TIMED_OUT, `voter ${key.id} could not be asked what it supports: ${reason}`)
  }
  const feature = response.supportedFeatures.find(({ name }) => name === 'kraft.version')
  const range = { minSupportedVersion: feature?.minVersion ?? 0, maxSupportedVersion: feature?.maxVersion ?? 0 }
  if (!supports(range, core.history.kraftVersion)) {
    return abort(
      ErrorCode.INVALID_REQUEST,
      `voter ${key.id} supports kraft.version ${range.minSupportedVersion} to ${range.maxSupportedVersion}, ` +
        `the cluster is at ${core.history.kraftVersion}`,
    )
  }
  const voter = { voterId: key.id, voterDirectoryId: key.directoryId, endpoints, kRaftVersionFeature: range }
  state.change = { type: 'catching-up', ticket, voter, ackWhenCommitted, untilMs }
}

function supports(range: Voter['kRaftVersionFeature'], version: number): boolean {
  return range.minSupportedVersion <= version && version <= range.maxSupportedVersion
}

export function onRemoveRaftVoter(core: Core, asking: Asking<'RemoveRaftVoter'>): void {
  const { ticket, body } = asking
  const refuse = (errorCode: number, message: string | null = null) =>
    answerVoterChange(core, 'RemoveRaftVoter', ticket, errorCode, message)
  if (isOtherCluster(core, body.clusterId)) return refuse(ErrorCode.INCONSISTENT_CLUSTER_ID, otherCluster(core, body))
  const errorCode = leaderOnly(core, core.epoch)
  if (errorCode !== null || core.role.type !== 'leader') return refuse(errorCode ?? ErrorCode.NOT_LEADER_OR_FOLLOWER)
  const key = { id: body.voterId, directoryId: body.voterDirectoryId }
  if (!isWhole(key)) return refuse(ErrorCode.INVALID_REQUEST, 'a voter is an id and a directory id')
  const { state } = core.role
  const refusal = refusalOfChange(core, state)
  if (refusal !== null) return refuse(refusal.errorCode, refusal.message)
  const listed = core.voters.byId(key.id)
  if (listed === null || !sameKey(keyOf(listed), key) || core.voters.size === 1) {
    return refuse(ErrorCode.VOTER_NOT_FOUND, `${key.id} (${key.directoryId}) cannot be taken from ${core.voters}`)
  }
  const voters = core.voters.without(key)
  if (!hasLiveMajority(core, state, voters)) {
    // Kafka tries, and is then without a majority to commit even this.
    return refuse(ErrorCode.REQUEST_TIMED_OUT, `too few of ${voters} keep up to go on without ${key.id}`)
  }
  change(core, state, { api: 'RemoveRaftVoter', ticket, voters })
}

function hasLiveMajority(core: Core, state: LeaderState, voters: VoterSet): boolean {
  const { fetchTimeoutMs } = core.options
  const live = voters.voters.filter((voter) => {
    if (voter.voterId === core.self.id) return true
    const progress = state.progressOf(keyOf(voter))
    return progress !== null && core.nowMs - progress.lastFetchMs <= fetchTimeoutMs
  })
  return live.length >= voters.majority
}

function change(
  core: Core,
  state: LeaderState,
  what: {
    readonly api: 'AddRaftVoter' | 'RemoveRaftVoter'
    readonly ticket: Ticket | null
    readonly voters: VoterSet
  },
): void {
  const { api, ticket, voters } = what
  const offset = core.append([{ type: 'KRaftVoters', value: { voters: voters.voters } }])
  const untilMs = core.nowMs + core.options.requestTimeoutMs
  state.change = { type: 'committing', api, ticket, offset, untilMs }
}

export function onUpdateRaftVoter(core: Core, asking: Asking<'UpdateRaftVoter'>): void {
  const { body } = asking
  answerUpdateVoter(core, asking, updateVoter(core, body))
}

/** The error code. The answer does not wait for the commit: the voter will see it. */
function updateVoter(core: Core, body: Asking<'UpdateRaftVoter'>['body']): number {
  if (isOtherCluster(core, body.clusterId)) return ErrorCode.INCONSISTENT_CLUSTER_ID
  const errorCode = leaderOnly(core, body.currentLeaderEpoch)
  if (errorCode !== null || core.role.type !== 'leader') return errorCode ?? ErrorCode.NOT_LEADER_OR_FOLLOWER
  const key = { id: body.voterId, directoryId: body.voterDirectoryId }
  const { minSupportedVersion, maxSupportedVersion } = body.kRaftVersionFeature
  const isRange = minSupportedVersion >= 0 && maxSupportedVersion >= minSupportedVersion
  if (!isWhole(key) || !isRange || !hasListener(core, body.listeners)) return ErrorCode.INVALID_REQUEST
  const refusal = refusalOfChange(core, core.role.state)
  if (refusal !== null) return refusal.errorCode
  if (!supports(body.kRaftVersionFeature, core.history.kraftVersion)) return ErrorCode.INVALID_REQUEST
  const listed = core.voters.byId(key.id)
  if (listed === null || !core.voters.has(key)) return ErrorCode.VOTER_NOT_FOUND
  const { listeners: endpoints, kRaftVersionFeature } = body
  const voter: Voter = { voterId: key.id, voterDirectoryId: key.directoryId, endpoints, kRaftVersionFeature }
  if (body.isElsewhere && isHeard(core, core.role.state, key)) return ErrorCode.DUPLICATE_VOTER
  if (!sameVoter(listed, voter)) {
    core.append([{ type: 'KRaftVoters', value: { voters: core.voters.updated(voter).voters } }])
  }
  return ErrorCode.NONE
}

/** The voter lives, and it is not the one that asks: that one does not fetch as a voter (`place.ts`). */
function isHeard(core: Core, state: LeaderState, key: ReplicaKey): boolean {
  if (key.id === core.self.id) return true
  const heardMs = Math.max(state.sinceMs, state.progressOf(key)?.lastContactMs ?? 0)
  return core.nowMs - heardMs < core.options.fetchTimeoutMs
}

function hasListener(core: Core, listeners: readonly Endpoint[]): boolean {
  return listeners.some(({ name }) => name === core.options.listener)
}

/** Takes the change in work as far as it goes now. The leader that removed itself resigns when that is committed. */
export function advanceVoterChange(core: Core, state: LeaderState): void {
  const { change: current } = state
  if (current === null) return resignWhenRemoved(core, state)
  if (current.type === 'committing' && (state.highWatermark ?? -1) > current.offset) {
    state.change = null
    if (current.ticket !== null) answerVoterChange(core, current.api, current.ticket, ErrorCode.NONE)
    return resignWhenRemoved(core, state)
  }
  if (current.type === 'catching-up' && core.logWork === null && isCaughtUp(core, state, keyOf(current.voter))) {
    const { ackWhenCommitted, ticket } = current
    if (!ackWhenCommitted) answerVoterChange(core, 'AddRaftVoter', ticket, ErrorCode.NONE)
    const voters = core.voters.with(current.voter)
    return change(core, state, { api: 'AddRaftVoter', ticket: ackWhenCommitted ? ticket : null, voters })
  }
  if (core.nowMs < current.untilMs) return
  state.change = null
  const api = current.type === 'committing' ? current.api : 'AddRaftVoter'
  if (current.ticket === null) return
  const message = current.type === 'catching-up' ? `voter ${current.voter.voterId} has not caught up` : null
  answerVoterChange(core, api, current.ticket, ErrorCode.REQUEST_TIMED_OUT, message)
}

/** Level with the leader within the fetch timeout. */
function isCaughtUp(core: Core, state: LeaderState, key: ReplicaKey): boolean {
  const progress = state.progressOf(key)
  if (progress === null) return false
  const { fetchTimeoutMs } = core.options
  return core.nowMs - progress.lastFetchMs <= fetchTimeoutMs && core.nowMs - progress.lastCaughtUpMs <= fetchTimeoutMs
}

function resignWhenRemoved(core: Core, state: LeaderState): void {
  const { votersOffset } = core.history
  const isCommitted = votersOffset !== null && votersOffset < (state.highWatermark ?? -1)
  if (isCommitted && !core.voters.has(core.self)) state.isResignRequested = true
}

/** The leader is none any more: whether the change takes effect is for the next one to see. */
export function abandonVoterChange(core: Core, state: LeaderState): void {
  const { change: current } = state
  state.change = null
  if (current === null || current.ticket === null) return
  const api = current.type === 'committing' ? current.api : 'AddRaftVoter'
  answerVoterChange(core, api, current.ticket, ErrorCode.NOT_LEADER_OR_FOLLOWER)
}

import { bug } from '../base/assert.ts'
import type { Asked } from './answers.ts'
import { Core } from './core.ts'
import { onBeginQuorumEpoch, onEndQuorumEpoch, onPeerLost, onVote } from './elections.ts'
import { onFetch, onFetchSnapshot, refuseParked } from './fetches.ts'
import type { Progress } from './leader-state.ts'
import { isPlace, onPlaceAnswered } from './place.ts'
import { nextDeadlineMs, poll } from './poll.ts'
import { onResponse } from './responses.ts'
import type { Effect, Endpoint, InboundRequest, Input, RaftOptions } from './types.ts'
import {
  abandonVoterChange,
  onAddRaftVoter,
  onApiVersions,
  onRemoveRaftVoter,
  onUpdateRaftVoter,
} from './voter-changes.ts'
import type { VoterSet } from './voter-set.ts'

/** What DescribeQuorum, metrics and the controller want to know. Times are monotonic. */
export interface RaftFacts {
  readonly role: string
  readonly epoch: number
  readonly leaderId: number | null
  /** Where it is reached; empty when that is not known. */
  readonly leaderEndpoints: readonly Endpoint[]
  readonly highWatermark: number
  readonly kraftVersion: number
  readonly voters: VoterSet
  /** Of the others, on the leader; empty elsewhere. */
  readonly voterProgress: readonly Progress[]
  readonly observerProgress: readonly Progress[]
}

/**
 * One node's part in the consensus on `__cluster_metadata`: Raft as Kafka does it (KIP-595), where followers fetch, with
 * pre-vote (KIP-996), snapshots (KIP-630) and voters that come and go (KIP-853). Pure: facts in, orders out.
 *
 * Life cycle: `start` once, then `step` for every fact. The orders of each call are performed before the next call; the
 * README says how.
 */
export class Raft {
  readonly #core: Core

  constructor(options: RaftOptions) {
    this.#core = new Core(options)
    this.#core.onLeadershipLost = (state) => {
      abandonVoterChange(this.#core, state)
      refuseParked(this.#core, state)
    }
  }

  start(): readonly Effect[] {
    this.#core.start()
    poll(this.#core)
    return this.#core.takeEffects()
  }

  step(input: Input): readonly Effect[] {
    const core = this.#core
    if (!(input.nowMs >= core.nowMs)) bug(`time goes back from ${core.nowMs} to ${input.nowMs}`)
    core.nowMs = input.nowMs
    switch (input.type) {
      case 'request':
        this.#onRequest({ listener: core.options.listener, ...input }, input.request)
        break
      case 'response':
      case 'request-failed':
        this.#onAnswer(input)
        break
      case 'appended':
        this.#onAppended(input)
        break
      case 'truncated':
        core.logWork = null
        break
      case 'flushed':
        core.durableOffset = Math.min(input.durableOffset, core.log.endOffset)
        break
      case 'snapshot-created':
        core.history.forgetBefore(core.log.startOffset)
        break
      case 'snapshot-installed':
        this.#onSnapshotInstalled(input)
        break
      case 'snapshot-refused':
        this.#onSnapshotRefused()
        break
      case 'tick':
        break
      case 'resign':
        if (core.role.type === 'leader' && core.epoch === input.epoch) core.role.state.isResignRequested = true
        break
      case 'shut-down':
        core.isShuttingDown = true
        break
    }
    poll(core)
    return core.takeEffects()
  }

  #onRequest(asked: Asked, { api, body }: InboundRequest): void {
    const core = this.#core
    switch (api) {
      case 'Vote':
        return onVote(core, { ...asked, body })
      case 'BeginQuorumEpoch':
        return onBeginQuorumEpoch(core, { ...asked, body })
      case 'EndQuorumEpoch':
        return onEndQuorumEpoch(core, { ...asked, body })
      case 'Fetch':
        return onFetch(core, { ...asked, body })
      case 'FetchSnapshot':
        return onFetchSnapshot(core, { ...asked, body })
      case 'AddRaftVoter':
        return onAddRaftVoter(core, { ...asked, body })
      case 'RemoveRaftVoter':
        return onRemoveRaftVoter(core, { ...asked, body })
      case 'UpdateRaftVoter':
        return onUpdateRaftVoter(core, { ...asked, body })
    }
  }

  #onAnswer(input: Extract<Input, { type: 'response' | 'request-failed' }>): void {
    const core = this.#core
    const sent = core.connections.end(input.correlationId)
    if (sent === null) return
    const isAnswered = input.type === 'response' && input.response.api === sent.api
    if (isAnswered) return onResponse(core, input.correlationId, sent, input.response)
    core.connections.backOff(sent.to.nodeId, core.nowMs)
    if (isPlace(sent.to)) return onPlaceAnswered(core, null)
    if (input.type === 'request-failed') onPeerLost(core, sent.to.nodeId, input.isRefused === true)
    if (sent.api === 'ApiVersions') onApiVersions(core, input.correlationId, null)
  }

  #onAppended({ endOffset, quorumRecords }: Extract<Input, { type: 'appended' }>): void {
    const core = this.#core
    if (endOffset !== core.log.endOffset) bug(`appended up to ${endOffset}, the log ends at ${core.log.endOffset}`)
    const { logWork, role } = core
    core.logWork = null
    for (const placed of quorumRecords) core.history.add(placed)
    if (role.type === 'leader') return role.state.setVoters(core.voters, core.nowMs)
    if (logWork !== 'append') return
    const { baseOffset, highWatermark } = core.fetched
    core.raiseHighWatermark(Math.min(endOffset, highWatermark))
    core.onFetchAppended(endOffset, baseOffset)
  }

  #onSnapshotInstalled({ id, kraftVersion, voters }: Extract<Input, { type: 'snapshot-installed' }>): void {
    const core = this.#core
    core.logWork = null
    core.durableOffset = id.offset
    core.history.restart(id.offset, kraftVersion, voters)
    if (core.role.type === 'follower') core.role.snapshot = null
    core.raiseHighWatermark(id.offset)
  }

  #onSnapshotRefused(): void {
    const core = this.#core
    core.logWork = null
    if (core.role.type !== 'follower') return
    core.role.snapshot = null
    core.connections.backOff(core.role.leader.id, core.nowMs)
  }

  /** When a tick may do something; Infinity when never. */
  get nextDeadlineMs(): number {
    return nextDeadlineMs(this.#core)
  }

  /** After `shut-down`: nobody waits for this node any more, or it has waited long enough for them. */
  get canStop(): boolean {
    const { role, isShuttingDown } = this.#core
    if (!isShuttingDown) return false
    return role.type === 'resigned' ? role.unacknowledged.size === 0 : role.type !== 'leader'
  }

  get epoch(): number {
    return this.#core.epoch
  }

  /** When a leader was heard last, or this node was it; monotonic. */
  get leaderHeardMs(): number {
    const { role, leaderHeardMs, nowMs } = this.#core
    return role.type === 'leader' ? Math.max(leaderHeardMs, nowMs) : leaderHeardMs
  }

  /** Who leads, as far as is known; perhaps this node. */
  get leaderId(): number | null {
    return this.#core.leaderId
  }

  /** Where the leader is reached; empty when that is not known. */
  get leaderEndpoints(): readonly Endpoint[] {
    return this.#core.leaderEndpoints
  }

  get voters(): VoterSet {
    return this.#core.voters
  }

  get kraftVersion(): number {
    return this.#core.history.kraftVersion
  }

  /** All of it together. Costs a walk over everyone who follows. */
  get facts(): RaftFacts {
    const { role, epoch, leaderId, leaderEndpoints, highWatermark, history, self } = this.#core
    const { kraftVersion, voters } = history
    const [voterProgress, observerProgress] =
      role.type === 'leader'
        ? [role.state.voters.filter(({ key }) => key.id !== self.id), role.state.observers]
        : [[], []]
    const leader = { leaderId, leaderEndpoints }
    const progress = { voterProgress, observerProgress }
    return { role: role.type, epoch, ...leader, highWatermark, kraftVersion, voters, ...progress }
  }

  /** `follower epoch=3 leader=1 voted=2 end=7@3 durable=7 hw=6 voters=(1,2,3)`, then what is not at rest. */
  dump(): string {
    const core = this.#core
    const { role, epoch, leaderId, voted, end, durableOffset, highWatermark, history, isVoter } = core
    const parts = [isVoter ? role.type : `${role.type} (observer)`, `epoch=${epoch}`]
    if (leaderId !== null) parts.push(`leader=${leaderId}`)
    if (voted !== null) parts.push(`voted=${voted.id}`)
    parts.push(`end=${end.offset}@${end.epoch} durable=${durableOffset} hw=${highWatermark} voters=${history.voters}`)
    if (role.type === 'candidate' || role.type === 'prospective') parts.push(`granted=(${role.tally.granting})`)
    if (role.type === 'leader') {
      const { state } = role
      const others = state.voters.filter(({ key }) => key.id !== core.self.id)
      parts.push(`start=${state.epochStartOffset}`, ...others.map(({ key, endOffset }) => `${key.id}:${endOffset}`))
      if (state.parkedCount > 0) parts.push(`parked=${state.parkedCount}`)
      if (state.change !== null) parts.push(`change=${state.change.type}`)
    }
    if (role.type === 'follower' && role.snapshot !== null) {
      const { id, position } = role.snapshot
      parts.push(`snapshot=${id.offset}@${id.epoch}+${position}`)
    }
    if (core.logWork !== null) parts.push(`log=${core.logWork}`)
    return parts.join(' ')
  }
}

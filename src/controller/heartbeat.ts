import type { BrokerImage } from '../metadata/image.ts'
import type { BrokerHeartbeatRequest, BrokerHeartbeatResponse } from '../protocol/apis/broker-heartbeat.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { BrokerSessions } from './broker-sessions.ts'
import { beginShutdown, changeSpace, fence, unfence } from './brokers.ts'
import type { Decision, DecisionContext } from './decision.ts'
import { cordoned, withoutDirectories } from './directories.ts'
import type { Changes, Ruling } from './elections.ts'

/**
 * "I am here, and have read the metadata so far." What the broker may do next is in the answer; what changes for the
 * cluster is in the records (KIP-631, controlled shutdown KIP-841).
 */
export function heartbeat(
  context: DecisionContext,
  sessions: BrokerSessions,
  request: BrokerHeartbeatRequest,
): Decision<BrokerHeartbeatResponse> {
  const { image, nowMs } = context
  const { brokerId, brokerEpoch, currentMetadataOffset } = request
  const state = image.broker(brokerId)
  // One that is not registered at all is told the same: what it knows of itself is out of date.
  const errorCode = state?.brokerEpoch === brokerEpoch ? ErrorCode.NONE : ErrorCode.STALE_BROKER_EPOCH
  const answer = { throttleTimeMs: 0, errorCode, isCaughtUp: false, isFenced: true, shouldShutDown: false }
  if (state === undefined || errorCode !== ErrorCode.NONE) return { records: [], response: answer }
  sessions.hear(brokerId, nowMs, currentMetadataOffset)
  const isCaughtUp = currentMetadataOffset >= brokerEpoch
  const { next, changes } = nextState(context, sessions, state, request)
  // A broker says again what it still has to say about its directories and its disk.
  const all = [changes, changeSpace(context, state, request.outOfSpace), directoryChanges(context, state, request)]
  const first = all.find(({ records }) => records.length > 0) ?? NO_CHANGES
  const isFenced = next === 'fenced' || next === 'stopped'
  return {
    ...first,
    response: { ...answer, isCaughtUp, isFenced, shouldShutDown: next === 'stopped' },
  }
}

interface Step {
  readonly next: 'fenced' | 'serving' | 'stopping' | 'stopped'
  readonly changes: Changes
}

const NO_CHANGES: Changes = { records: [], notices: [] }

/** Fenced brokers serve once they have read their registration; serving ones hand over what they lead before they stop. */
function nextState(
  context: DecisionContext,
  sessions: BrokerSessions,
  state: BrokerImage,
  request: BrokerHeartbeatRequest,
): Step {
  const { image } = context
  const { brokerId, brokerEpoch, currentMetadataOffset, wantFence, wantShutDown, offlineLogDirs } = request
  if (state.fenced) {
    if (wantShutDown) return { next: 'stopped', changes: NO_CHANGES }
    const hasNowhere = state.logDirs.length > 0 && state.logDirs.every((id) => offlineLogDirs.includes(id))
    if (wantFence || hasNowhere || currentMetadataOffset < brokerEpoch) return { next: 'fenced', changes: NO_CHANGES }
    return { next: 'serving', changes: unfence(context, state) }
  }
  if (wantFence) {
    return { next: wantShutDown ? 'stopped' : 'fenced', changes: fence(context, state, 'as it asked') }
  }
  if (!wantShutDown) return { next: 'serving', changes: NO_CHANGES }
  if (!state.inControlledShutdown && image.topicIndex.leadsAny(brokerId)) {
    const changes = beginShutdown(context, state)
    sessions.beginShutdown(brokerId, context.nextOffset + changes.records.length - 1)
    return { next: 'stopping', changes }
  }
  if (image.topicIndex.leadsAny(brokerId) || !sessions.mayStop(image, brokerId)) {
    return { next: 'stopping', changes: NO_CHANGES }
  }
  return { next: 'stopped', changes: fence(context, state, 'it stops') }
}

/** From the metadata versions on that have them. */
function directoryChanges(context: Ruling, broker: BrokerImage, request: BrokerHeartbeatRequest): Changes {
  const metadataVersion = context.image.features.get('metadata.version') ?? 0
  if (metadataVersion >= DIRECTORIES_SINCE) {
    const changes = withoutDirectories(context, broker, request.offlineLogDirs)
    if (changes.records.length > 0) return changes
  }
  // One that tells of its disk cordons it for the controllers of Kafka only, which go by nothing else.
  if (metadataVersion < CORDONED_SINCE || request.outOfSpace >= 0) return NO_CHANGES
  return { records: cordoned(broker, request.cordonedLogDirs), notices: [] }
}

/** 3.7-IV2 and 4.3-IV0. */
const DIRECTORIES_SINCE = 17
const CORDONED_SINCE = 30

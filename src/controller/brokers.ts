import type { BrokerImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import type { BrokerHeartbeatRequest, BrokerHeartbeatResponse } from '../protocol/apis/broker-heartbeat.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { BrokerSessions } from './broker-sessions.ts'
import { brokerNumber } from './config-view.ts'
import type { Decision, DecisionContext, Due, Notice } from './decision.ts'
import { type Changes, type Ruling, withBroker, withoutBroker } from './elections.ts'

/** Silence after which a broker counts as dead. */
export function sessionTimeoutMs({ image, broker }: Ruling): number {
  return brokerNumber(image, broker, 'broker.session.timeout.ms')
}

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
  const errorCode =
    state === undefined
      ? ErrorCode.BROKER_ID_NOT_REGISTERED
      : state.brokerEpoch === brokerEpoch
        ? ErrorCode.NONE
        : ErrorCode.STALE_BROKER_EPOCH
  const answer = { throttleTimeMs: 0, errorCode, isCaughtUp: false, isFenced: true, shouldShutDown: false }
  if (state === undefined || errorCode !== ErrorCode.NONE) return { records: [], response: answer }
  sessions.hear(brokerId, nowMs, currentMetadataOffset)
  const isCaughtUp = currentMetadataOffset >= brokerEpoch
  const { next, changes } = nextState(context, sessions, state, request)
  const isFenced = next === 'fenced' || next === 'stopped'
  return {
    ...changes,
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
  { brokerId, brokerEpoch, currentMetadataOffset, wantFence, wantShutDown }: BrokerHeartbeatRequest,
): Step {
  const { image } = context
  if (state.fenced) {
    if (wantShutDown) return { next: 'stopped', changes: NO_CHANGES }
    if (wantFence || currentMetadataOffset < brokerEpoch) return { next: 'fenced', changes: NO_CHANGES }
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

/** The broker leads and is in sync no more, until it is heard again. */
export function fence(context: Ruling, broker: BrokerImage, why: string): Due {
  const { records, notices } = withoutBroker(context, broker.brokerId)
  return {
    records: [registrationChange(broker, { fenced: 1 }), ...records],
    notices: [fenceNotice(broker, why, records), ...notices],
  }
}

function fenceNotice({ brokerId }: BrokerImage, why: string, records: readonly MetadataRecord[]): Notice {
  let [moved, offline] = [0, 0]
  for (const record of records) {
    if (record.type !== 'PartitionChange') continue
    if (record.value.leader >= 0) moved++
    if (record.value.leader === -1) offline++
  }
  const message = `Node ${brokerId} is fenced: ${why}`
  const details = { node: brokerId, leadersMoved: moved, partitionsWithoutLeader: offline }
  return { level: offline > 0 ? 'warn' : 'info', message, details }
}

function unfence(context: Ruling, broker: BrokerImage): Changes {
  const { records, notices } = withBroker(context, broker.brokerId)
  return { records: [registrationChange(broker, { fenced: -1 }), ...records], notices }
}

function beginShutdown(context: Ruling, broker: BrokerImage): Changes {
  const { records, notices } = withoutBroker(context, broker.brokerId)
  return { records: [registrationChange(broker, { inControlledShutdown: 1 }), ...records], notices }
}

export function registrationChange(
  { brokerId, brokerEpoch }: BrokerImage,
  change: { readonly fenced?: number; readonly inControlledShutdown?: number },
): MetadataRecord {
  const unchanged = { fenced: 0, inControlledShutdown: 0, logDirs: [], cordonedLogDirs: null }
  return { type: 'BrokerRegistrationChange', value: { ...unchanged, ...change, brokerId, brokerEpoch } }
}

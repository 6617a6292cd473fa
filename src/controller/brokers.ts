import type { BrokerImage, MetadataImage } from '../metadata/image.ts'
import { type MetadataRecord, type RegisterBrokerRecord } from '../metadata/records.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { BrokerHeartbeatRequest, BrokerHeartbeatResponse } from '../protocol/apis/broker-heartbeat.ts'
import type { BrokerRegistrationRequest, BrokerRegistrationResponse } from '../protocol/apis/broker-registration.ts'
import type { UnregisterBrokerRequest, UnregisterBrokerResponse } from '../protocol/apis/unregister-broker.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { BrokerSessions } from './broker-sessions.ts'
import { brokerNumber } from './config-view.ts'
import { ACCEPTED, type Decision, type DecisionContext, refusal } from './decision.ts'
import { withBroker, withoutBroker } from './elections.ts'
import { UNASSIGNED_DIRECTORY } from './partition-records.ts'

/** Silence after which a broker counts as dead. */
export function sessionTimeoutMs({ image, broker }: Pick<DecisionContext, 'image' | 'broker'>): number {
  return brokerNumber(image, broker, 'broker.session.timeout.ms')
}

/**
 * A broker process announces itself. It starts fenced: it serves once it has read its own registration (heartbeat).
 * A new incarnation takes over everything of the one before but its leaderships.
 */
export function registerBroker(
  context: DecisionContext,
  sessions: BrokerSessions,
  request: BrokerRegistrationRequest,
): Decision<BrokerRegistrationResponse> {
  const { image, nowMs, nextOffset } = context
  const { brokerId, incarnationId } = request
  const errorCode = registrationError(context, sessions, request)
  if (errorCode !== ErrorCode.NONE) return { records: [], response: { throttleTimeMs: 0, errorCode, brokerEpoch: -1 } }
  const existing = image.broker(brokerId)
  const again = existing?.incarnationId === incarnationId ? existing : null
  const brokerEpoch = again?.brokerEpoch ?? nextOffset
  const record: MetadataRecord = { type: 'RegisterBroker', value: registration(request, brokerEpoch, again) }
  const cleanUp = existing === undefined || again !== null ? [] : withoutBroker(image, brokerId)
  if (again === null) sessions.forget(brokerId)
  sessions.hear(brokerId, nowMs, null)
  return { records: [record, ...cleanUp], response: { throttleTimeMs: 0, errorCode, brokerEpoch } }
}

function registration(
  request: BrokerRegistrationRequest,
  brokerEpoch: number,
  again: BrokerImage | null,
): RegisterBrokerRecord {
  const { brokerId, incarnationId, listeners, features, rack, logDirs } = request
  return {
    brokerId,
    isMigratingZkBroker: false,
    incarnationId,
    brokerEpoch,
    endPoints: listeners,
    features,
    rack,
    fenced: again?.fenced ?? true,
    inControlledShutdown: again?.inControlledShutdown ?? false,
    logDirs,
    cordonedLogDirs: null,
  }
}

function registrationError(
  context: DecisionContext,
  sessions: BrokerSessions,
  request: BrokerRegistrationRequest,
): number {
  const { image, clusterId, nowMs, broker } = context
  const { brokerId, incarnationId, logDirs } = request
  if (request.clusterId !== clusterId) return ErrorCode.INCONSISTENT_CLUSTER_ID
  if (request.isMigratingZkBroker) return ErrorCode.BROKER_ID_NOT_REGISTERED
  const existing = image.broker(brokerId)
  // The controller's own broker is this very process: its older incarnation cannot be alive.
  const another = existing !== undefined && existing.incarnationId !== incarnationId && brokerId !== broker.brokerId
  if (another && sessions.isHeard(brokerId, nowMs, sessionTimeoutMs(context))) {
    return ErrorCode.DUPLICATE_BROKER_REGISTRATION
  }
  const reserved = logDirs.some((id) => id === NO_TOPIC_ID || id === UNASSIGNED_DIRECTORY)
  if (logDirs.length === 0 || reserved || new Set(logDirs).size < logDirs.length) return ErrorCode.INVALID_REGISTRATION
  for (const other of image.brokers.values()) {
    if (other.brokerId !== brokerId && other.logDirs.some((id) => logDirs.includes(id))) {
      return ErrorCode.INVALID_REGISTRATION
    }
  }
  for (const [feature, level] of image.features) {
    const range = request.features.find(({ name }) => name === feature)
    const [low, high] = [range?.minSupportedVersion ?? 0, range?.maxSupportedVersion ?? 0]
    if (level < low || level > high) return ErrorCode.UNSUPPORTED_VERSION
  }
  return ErrorCode.NONE
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
  const { image, nowMs, nextOffset } = context
  const { brokerId, brokerEpoch, currentMetadataOffset, wantFence, wantShutDown } = request
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
  const reply = (isFenced: boolean, records: MetadataRecord[], shouldShutDown = false) => ({
    records,
    response: { ...answer, isCaughtUp, isFenced, shouldShutDown },
  })
  if (state.fenced) {
    if (wantShutDown) return reply(true, [], true)
    return wantFence || !isCaughtUp ? reply(true, []) : reply(false, unfence(image, state))
  }
  if (wantFence) return reply(true, fence(image, state), wantShutDown)
  if (!wantShutDown) return reply(false, [])
  if (!state.inControlledShutdown && leadsAnything(image, brokerId)) {
    const records = [registrationChange(state, { inControlledShutdown: 1 }), ...withoutBroker(image, brokerId)]
    sessions.beginShutdown(brokerId, nextOffset + records.length - 1)
    return reply(false, records)
  }
  if (leadsAnything(image, brokerId) || !sessions.mayStop(image, brokerId)) return reply(false, [])
  return reply(true, fence(image, state), true)
}

function leadsAnything(image: MetadataImage, brokerId: number): boolean {
  for (const { partitions } of image.topicsById.values()) {
    if (partitions.some(({ leader }) => leader === brokerId)) return true
  }
  return false
}

/** The broker leads and is in sync no more, until it is heard again. */
export function fence(image: MetadataImage, broker: BrokerImage): MetadataRecord[] {
  return [registrationChange(broker, { fenced: 1 }), ...withoutBroker(image, broker.brokerId)]
}

function unfence(image: MetadataImage, broker: BrokerImage): MetadataRecord[] {
  return [registrationChange(broker, { fenced: -1 }), ...withBroker(image, broker.brokerId)]
}

function registrationChange(
  { brokerId, brokerEpoch }: BrokerImage,
  change: { readonly fenced?: number; readonly inControlledShutdown?: number },
): MetadataRecord {
  const unchanged = { fenced: 0, inControlledShutdown: 0, logDirs: [], cordonedLogDirs: null }
  return { type: 'BrokerRegistrationChange', value: { ...unchanged, ...change, brokerId, brokerEpoch } }
}

/** Takes a broker out for good. It must have stopped: a serving one would register again at once. */
export function unregisterBroker(
  { image }: DecisionContext,
  sessions: BrokerSessions,
  { brokerId }: UnregisterBrokerRequest,
): Decision<UnregisterBrokerResponse> {
  const broker = image.broker(brokerId)
  if (broker === undefined) {
    const missing = refusal(ErrorCode.BROKER_ID_NOT_REGISTERED, `Broker ID ${brokerId} is not currently registered`)
    return { records: [], response: { throttleTimeMs: 0, ...missing } }
  }
  sessions.forget(brokerId)
  const record: MetadataRecord = { type: 'UnregisterBroker', value: { brokerId, brokerEpoch: broker.brokerEpoch } }
  return { records: [...withoutBroker(image, brokerId), record], response: { throttleTimeMs: 0, ...ACCEPTED } }
}

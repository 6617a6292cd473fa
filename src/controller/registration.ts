import type { BrokerImage, MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord, RegisterBrokerRecord } from '../metadata/records.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { BrokerRegistrationRequest, BrokerRegistrationResponse } from '../protocol/apis/broker-registration.ts'
import type { UnregisterBrokerRequest, UnregisterBrokerResponse } from '../protocol/apis/unregister-broker.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { BrokerSessions } from './broker-sessions.ts'
import { sessionTimeoutMs } from './brokers.ts'
import { ACCEPTED, type Decision, type DecisionContext, refusal } from './decision.ts'
import { withBrokerReplaced } from './elections.ts'
import { LOST_DIRECTORY, UNASSIGNED_DIRECTORY } from './partition-records.ts'
import { isElrOn } from './feature-names.ts'
import { isUndecided, losesNothingInCrash } from './topic-rules.ts'

/**
 * A broker process announces itself. It starts fenced: it serves once it has read its own registration (heartbeat).
 * A new incarnation leads nothing of what the one before led. Where that one may have lost records, it is not in sync nor
 * eligible any more either (KIP-966).
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
  const cleanUp = again === null ? replaced(context, request, existing) : { records: [], notices: [] }
  if (again === null) sessions.forget(brokerId)
  sessions.hear(brokerId, nowMs, null)
  const response = { throttleTimeMs: 0, errorCode, brokerEpoch }
  // The registration is the first record, for its offset is the broker epoch.
  return { records: [record, ...cleanUp.records], notices: cleanUp.notices, response }
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
    cordonedLogDirs: again?.cordonedLogDirs ?? null,
    outOfSpace: again?.outOfSpace ?? 0,
  }
}

/** What becomes of the replicas of the incarnation before. */
function replaced(context: DecisionContext, request: BrokerRegistrationRequest, existing: BrokerImage | undefined) {
  const { image } = context
  const { brokerId, previousBrokerEpoch, ownIncarnations, logDirs } = request
  const stoppedCleanly = existing !== undefined && previousBrokerEpoch === existing.brokerEpoch
  // Its folder says that it was the last to run on it: not an older one that was restored.
  const ranOnThisFolder = existing !== undefined && ownIncarnations.includes(existing.incarnationId)
  // One with several directories says itself where its replicas lie now (AssignReplicasToDirs).
  const only = logDirs.length === 1 ? (logDirs[0] as string) : null
  return withBrokerReplaced(context, brokerId, only, (partition, rules) => {
    const directory = partition.directories[partition.replicas.indexOf(brokerId)]
    // Its log failed in the life before, which was on this folder: what it had on disk is there still.
    const isHere = directory === LOST_DIRECTORY && only !== null && ranOnThisFolder
    const isElsewhere = directory !== undefined && !isUndecided(directory) && !logDirs.includes(directory)
    if (isElsewhere && !isHere) return 'nothing'
    // Without the feature nobody stays eligible, and the last one in sync is kept, however it stopped.
    if (!isElrOn(image) || stoppedCleanly) return 'all'
    return ranOnThisFolder && losesNothingInCrash(image, rules, partition) ? 'all' : 'maybe-less'
  })
}

function registrationError(
  context: DecisionContext,
  sessions: BrokerSessions,
  request: BrokerRegistrationRequest,
): number {
  const { image, clusterId, nowMs } = context
  const { brokerId, incarnationId, logDirs } = request
  if (request.clusterId !== clusterId) return ErrorCode.INCONSISTENT_CLUSTER_ID
  if (request.isMigratingZkBroker) return ErrorCode.BROKER_ID_NOT_REGISTERED
  const existing = image.broker(brokerId)
  // Who has stopped cleanly lives no more, whatever is left of its session; a copy of its folder from before has not.
  const hasStopped = existing !== undefined && request.previousBrokerEpoch === existing.brokerEpoch
  const another = existing !== undefined && existing.incarnationId !== incarnationId && !hasStopped
  if (another && !isSamePlace(existing, request) && sessions.isAlive(brokerId, nowMs, sessionTimeoutMs(context))) {
    return ErrorCode.DUPLICATE_BROKER_REGISTRATION
  }
  if (!areSoundDirectories(image, brokerId, logDirs)) return ErrorCode.INVALID_REGISTRATION
  for (const [feature, level] of image.features) {
    const range = request.features.find(({ name }) => name === feature)
    const [low, high] = [range?.minSupportedVersion ?? 0, range?.maxSupportedVersion ?? 0]
    if (level < low || level > high) return ErrorCode.UNSUPPORTED_VERSION
  }
  return ErrorCode.NONE
}

/**
 * The same data folders behind the same address: it could not be bound if the process before still lived, so its session
 * need not run out. Their lock alone proves nothing, for a copy has its own: one that runs beside the original, or
 * another folder with the id of a living broker, must wait and is refused.
 */
function isSamePlace(existing: BrokerImage, { logDirs, listeners }: BrokerRegistrationRequest): boolean {
  const sameFolders = logDirs.length === existing.logDirs.length && logDirs.every((id) => existing.logDirs.includes(id))
  const isBoundAgain = existing.endpoints.some(({ host, port }) =>
    listeners.some((listener) => listener.host === host && listener.port === port),
  )
  return sameFolders && isBoundAgain
}

function areSoundDirectories(image: MetadataImage, brokerId: number, logDirs: readonly string[]): boolean {
  const reserved = logDirs.some((id) => id === NO_TOPIC_ID || id === UNASSIGNED_DIRECTORY)
  if (logDirs.length === 0 || reserved || new Set(logDirs).size < logDirs.length) return false
  for (const other of image.brokers.values()) {
    if (other.brokerId !== brokerId && other.logDirs.some((id) => logDirs.includes(id))) return false
  }
  return true
}

/** Takes a broker out for good. It must have stopped: a serving one would register again at once. */
export function unregisterBroker(
  context: DecisionContext,
  sessions: BrokerSessions,
  { brokerId }: UnregisterBrokerRequest,
): Decision<UnregisterBrokerResponse> {
  const broker = context.image.broker(brokerId)
  if (broker === undefined) {
    const missing = refusal(ErrorCode.BROKER_ID_NOT_REGISTERED, `Broker ID ${brokerId} is not currently registered`)
    return { records: [], response: { throttleTimeMs: 0, ...missing } }
  }
  sessions.forget(brokerId)
  const record: MetadataRecord = { type: 'UnregisterBroker', value: { brokerId, brokerEpoch: broker.brokerEpoch } }
  const { records, notices } = withBrokerReplaced(context, brokerId, null, () => 'maybe-less')
  return { records: [...records, record], notices, response: { throttleTimeMs: 0, ...ACCEPTED } }
}

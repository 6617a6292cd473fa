import { OFFSETS_TOPIC } from '../../controller/topic-names.ts'
import { partitionForKey } from '../../coordinator/partition-for.ts'
import { FindCoordinator, type FindCoordinatorRequest } from '../../protocol/apis/find-coordinator.ts'
import { ErrorCode, errorMessage } from '../../protocol/errors.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import { type Endpoints, isAlive } from '../endpoints.ts'
import type { MetadataSource } from '../services.ts'

type Response = ResponseInput<typeof FindCoordinator>
type Coordinator = NonNullable<Response['coordinators']>[number]

const KeyType = { group: 0, transaction: 1, share: 2 } as const
/** Several keys in one request (KIP-699). */
const BATCH_VERSION = 4
/** What Kafka says of success in versions 1 to 3; later ones leave it empty. */
const SUCCESS_MESSAGE = 'NONE'

export interface OffsetsTopicCreator {
  /** Creates `__consumer_offsets` if it is missing; resolves when it is there or cannot be made now. */
  ensureOffsetsTopic(): Promise<void>
}

/**
 * Served from 0 to 6, for groups. The topic of the offsets comes into being with the first question; the answer waits for
 * it. Transactions and share groups are not served by this version, and are refused at once rather than looked for.
 */
export function findCoordinator(source: MetadataSource, endpoints: Endpoints, creator: OffsetsTopicCreator): ServedApi {
  const handle = async (request: FindCoordinatorRequest, call: Call): Promise<Response> => {
    const keys = call.version >= BATCH_VERSION ? request.coordinatorKeys : [request.key]
    if (request.keyType === KeyType.group && source.image().topic(OFFSETS_TOPIC) === undefined) {
      await creator.ensureOffsetsTopic()
    }
    if (request.keyType === KeyType.group) await source.settled(() => keys.map((key) => leaderFor(key, source)))
    const coordinators = keys.map((key) => locate(key, request.keyType, call, source, endpoints))
    if (call.version >= BATCH_VERSION) return { coordinators }
    const [{ key: _, ...only }] = coordinators as [Coordinator]
    return { ...only, errorMessage: call.version >= 1 ? only.errorMessage || SUCCESS_MESSAGE : null }
  }
  return serve(FindCoordinator, handle)
}

function locate(key: string, keyType: number, call: Call, source: MetadataSource, endpoints: Endpoints): Coordinator {
  if (keyType !== KeyType.group) return failed(key, ErrorCode.INVALID_REQUEST, refusalOf(keyType))
  const image = source.image()
  const topic = image.topic(OFFSETS_TOPIC)
  if (topic === undefined) return failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
  const leader = leaderFor(key, source)
  const broker = image.broker(leader)
  const endpoint = isAlive(broker) ? endpoints.ofBroker(call.connection, broker) : null
  if (endpoint === null) return failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
  const { host, port } = endpoint
  return { key, nodeId: leader, host, port, errorCode: ErrorCode.NONE, errorMessage: '' }
}

/** -1: none. */
function leaderFor(key: string, source: MetadataSource): number {
  const partitions = source.image().topic(OFFSETS_TOPIC)?.partitions ?? []
  return partitions.length === 0 ? -1 : (partitions[partitionForKey(key, partitions.length)]?.leader ?? -1)
}

function refusalOf(keyType: number): string {
  if (keyType === KeyType.transaction) return 'Transactions are not served by this version'
  if (keyType === KeyType.share) return 'Share groups are not served by this version'
  return `Unknown key type ${keyType}`
}

function failed(key: string, errorCode: number, message = errorMessage(errorCode)): Coordinator {
  return { key, nodeId: -1, host: '', port: -1, errorCode, errorMessage: message }
}

import { DescribeCluster, type DescribeClusterRequest } from '../../protocol/apis/describe-cluster.ts'
import type { DescribeQuorumResponse } from '../../protocol/apis/describe-quorum.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import type { Endpoints } from '../endpoints.ts'
import type { MetadataSource } from '../services.ts'
import { CLUSTER_OPERATIONS, OPERATIONS_OMITTED } from './authorized-operations.ts'

const EndpointType = { brokers: 1, controllers: 2 } as const

type Response = ResponseInput<typeof DescribeCluster>
type Brokers = Response['brokers']

/** What a node is, for whoever looks after it; -1: not known. */
export interface SelfFacts {
  readonly softwareVersion: string
  readonly descriptorLimit: number
  readonly memoryLimitBytes: number
}

/** Served from 0 to 2. A listener for clients describes the brokers only, one for controllers these only (KIP-919). */
export function describeCluster(source: MetadataSource, endpoints: Endpoints, self: SelfFacts): ServedApi {
  const handle = (request: DescribeClusterRequest, call: Call): Response => {
    if (request.endpointType !== EndpointType.brokers) return refused(request.endpointType, 'BROKER', 'CONTROLLER')
    const brokers: Brokers[number][] = []
    for (const [brokerId, broker] of source.image().brokers) {
      if (broker.fenced && !request.includeFencedBrokers) continue
      const endpoint = endpoints.ofBroker(call.connection, broker)
      if (endpoint === null) continue
      const { outOfSpace } = broker
      brokers.push({ brokerId, ...endpoint, isFenced: call.version >= 2 && broker.fenced, outOfSpace })
    }
    const answer = described(source, request, brokers)
    return request.includeSelf ? { ...answer, ...self, wallTimeMs: source.env.clock.wallMs() } : answer
  }
  return serve(DescribeCluster, handle)
}

/** The same on a listener for controllers. */
export function describeControllers(source: MetadataSource, voters: () => DescribeQuorumResponse['nodes']): ServedApi {
  const handle = (request: DescribeClusterRequest, call: Call): Response => {
    if (request.endpointType !== EndpointType.controllers) return refused(request.endpointType, 'CONTROLLER', 'BROKER')
    const controllers: Brokers[number][] = []
    for (const { nodeId, listeners } of voters()) {
      const listener = listeners.find(({ name }) => name === call.connection.listenerName)
      if (listener !== undefined) controllers.push({ brokerId: nodeId, host: listener.host, port: listener.port })
    }
    return described(source, request, controllers)
  }
  return serve(DescribeCluster, handle)
}

function described(source: MetadataSource, request: DescribeClusterRequest, brokers: Brokers): Response {
  const sorted = [...brokers].sort((left, right) => left.brokerId - right.brokerId)
  const active = source.activeController() ?? -1
  return {
    errorCode: ErrorCode.NONE,
    endpointType: request.endpointType,
    clusterId: source.clusterId,
    controllerId: sorted.some(({ brokerId }) => brokerId === active) ? active : (sorted[0]?.brokerId ?? -1),
    brokers: sorted,
    clusterAuthorizedOperations: request.includeClusterAuthorizedOperations ? CLUSTER_OPERATIONS : OPERATIONS_OMITTED,
  }
}

function refused(endpointType: number, here: string, wanted: string): Response {
  const isKnown = endpointType === EndpointType.brokers || endpointType === EndpointType.controllers
  return {
    errorCode: isKnown ? ErrorCode.MISMATCHED_ENDPOINT_TYPE : ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
    errorMessage: isKnown
      ? `The request was sent to an endpoint of type ${here}, but we wanted an endpoint of type ${wanted}`
      : `Unsupported endpoint type ${endpointType}`,
    // Not the one that was asked for: Kafka leaves the field at its default.
    endpointType: EndpointType.brokers,
    clusterId: '',
    brokers: [],
  }
}

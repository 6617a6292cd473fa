import { DescribeCluster, type DescribeClusterRequest } from '../../protocol/apis/describe-cluster.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import type { Endpoints } from '../endpoints.ts'
import type { MetadataSource } from '../services.ts'
import { CLUSTER_OPERATIONS, OPERATIONS_OMITTED } from './authorized-operations.ts'

export const EndpointType = { brokers: 1, controllers: 2 } as const

type Response = ResponseInput<typeof DescribeCluster>

/** Served from 0 to 2. A broker listener describes brokers only (KIP-919). */
export function describeCluster(source: MetadataSource, endpoints: Endpoints): ServedApi {
  const handle = (request: DescribeClusterRequest, call: Call): Response => {
    const { endpointType, includeFencedBrokers } = request
    if (endpointType !== EndpointType.brokers) {
      const known = endpointType === EndpointType.controllers
      return {
        errorCode: known ? ErrorCode.MISMATCHED_ENDPOINT_TYPE : ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
        errorMessage: known
          ? 'The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER'
          : `Unsupported endpoint type ${endpointType}`,
        endpointType,
        clusterId: '',
        brokers: [],
      }
    }
    const brokers = []
    for (const [brokerId, broker] of source.image().brokers) {
      if (broker.fenced && !includeFencedBrokers) continue
      const endpoint = endpoints.ofBroker(call.connection, broker)
      if (endpoint !== null) brokers.push({ brokerId, ...endpoint, isFenced: call.version >= 2 && broker.fenced })
    }
    brokers.sort((left, right) => left.brokerId - right.brokerId)
    const controllerId = source.activeController() ?? -1
    return {
      errorCode: ErrorCode.NONE,
      endpointType,
      clusterId: source.clusterId,
      controllerId: brokers.some(({ brokerId }) => brokerId === controllerId)
        ? controllerId
        : (brokers[0]?.brokerId ?? -1),
      brokers,
      clusterAuthorizedOperations: request.includeClusterAuthorizedOperations ? CLUSTER_OPERATIONS : OPERATIONS_OMITTED,
    }
  }
  return serve(DescribeCluster, handle)
}

import { ApiVersions, type ApiVersionsRequest, type ApiVersionsResponse } from '../../protocol/apis/api-versions.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'

export interface ApiVersionsSource {
  readonly clusterId: string
  readonly nodeId: number
  /** All that is served on the listener asked. */
  readonly apis: readonly ServedApi[]
  /** Feature ranges of this node, and the levels the cluster has agreed on. */
  features(): {
    supported: readonly { name: string; minVersion: number; maxVersion: number }[]
    finalized: readonly { name: string; level: number }[]
    /** Offset of the metadata that the levels are from. */
    epoch: number
  }
}

/** Of a client's name and version (KIP-511). */
const SOFTWARE = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/

/**
 * Served from 0 on. A version that we do not know is answered in version 0 with our range for this very API, by which
 * the client comes again. Version 5 says whom the client believes to reach: a mismatch sends it
 * back to its bootstrap servers (KIP-1242).
 */
export function apiVersions(source: ApiVersionsSource): ServedApi {
  let all: ApiVersionsResponse['apiKeys'] | null = null
  const handle = (request: ApiVersionsRequest, call: Call) => {
    const { clientSoftwareName, clientSoftwareVersion, clusterId, nodeId } = request
    if (call.version >= 3) {
      if (!SOFTWARE.test(clientSoftwareName) || !SOFTWARE.test(clientSoftwareVersion)) {
        return { errorCode: ErrorCode.INVALID_REQUEST, apiKeys: [] }
      }
      call.connection.clientSoftware = `${clientSoftwareName} ${clientSoftwareVersion}`
    }
    // Both or neither, as with Kafka.
    if ((clusterId === null) !== (nodeId === -1)) return { errorCode: ErrorCode.INVALID_REQUEST, apiKeys: [] }
    if ((clusterId !== null && clusterId !== source.clusterId) || (nodeId !== -1 && nodeId !== source.nodeId)) {
      return { errorCode: ErrorCode.REBOOTSTRAP_REQUIRED, apiKeys: [] }
    }
    all ??= rangesOf(source.apis)
    const { supported, finalized, epoch } = source.features()
    return {
      errorCode: ErrorCode.NONE,
      apiKeys: all,
      // Clients below version 4 take a minimum of 0 for a mistake (KIP-1022).
      supportedFeatures: call.version >= 4 ? supported : supported.filter(({ minVersion }) => minVersion > 0),
      finalizedFeaturesEpoch: epoch,
      finalizedFeatures: finalized.map(({ name, level }) => ({ name, maxVersionLevel: level, minVersionLevel: level })),
    }
  }
  return serve(ApiVersions, handle, { handleUnknownVersion })
}

function handleUnknownVersion(call: Call): void {
  const [minVersion, maxVersion] = ApiVersions.versions
  const apiKeys = [{ apiKey: ApiVersions.key, minVersion, maxVersion }]
  call.replyAs(0, { errorCode: ErrorCode.UNSUPPORTED_VERSION, apiKeys })
}

function rangesOf(apis: readonly ServedApi[]): ApiVersionsResponse['apiKeys'] {
  return apis
    .filter(({ advertised }) => advertised !== null)
    .map(({ api, advertised }) => {
      const [minVersion, maxVersion] = advertised as readonly [number, number]
      return { apiKey: api.key, minVersion, maxVersion }
    })
    .sort((left, right) => left.apiKey - right.apiKey)
}

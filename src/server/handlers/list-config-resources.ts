import { ListConfigResources, type ListConfigResourcesRequest } from '../../protocol/apis/list-config-resources.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import type { MetadataSource } from '../services.ts'

/** Kinds of resource that have configs, as ConfigResource.Type numbers them. */
const Kind = { topic: 2, broker: 4, brokerLogger: 8, clientMetrics: 16, group: 32 } as const
const KINDS: readonly number[] = Object.values(Kind)

/** Served from 0 to 1. Version 0 lists client metrics resources only (KIP-1142). */
export function listConfigResources(source: MetadataSource): ServedApi {
  const handle = (
    { resourceTypes }: ListConfigResourcesRequest,
    call: Call,
  ): ResponseInput<typeof ListConfigResources> => {
    const asked = call.version === 0 ? [Kind.clientMetrics] : resourceTypes.length === 0 ? KINDS : resourceTypes
    if (asked.some((kind) => !KINDS.includes(kind))) {
      return { errorCode: ErrorCode.UNSUPPORTED_VERSION, configResources: [] }
    }
    const configResources = [...new Set(asked)].flatMap((resourceType) =>
      namesOf(resourceType, source).map((resourceName) => ({ resourceName, resourceType })),
    )
    return { errorCode: ErrorCode.NONE, configResources }
  }
  return serve(ListConfigResources, handle)
}

function namesOf(kind: number, source: MetadataSource): string[] {
  const image = source.image()
  const names: string[] = []
  if (kind === Kind.topic) for (const [name] of image.topicsByName) names.push(name)
  else if (kind === Kind.broker || kind === Kind.brokerLogger) {
    for (const [brokerId] of image.brokers) names.push(String(brokerId))
  } else {
    for (const [, { type, name }] of image.configs) if (type === kind) names.push(name)
  }
  return names.sort()
}

import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const configResource = struct({
  resourceName: string,
  resourceType: int8.since(1, { absent: 16 }).ignorable,
})

/** The names of resources that have configs (KIP-1142). Version 0 lists client metrics only (KIP-1000). */
export const ListConfigResources = api({
  key: 74,
  name: 'ListConfigResources',
  versions: [0, 1],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    resourceTypes: array(int8).since(1),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    configResources: array(configResource),
  }),
})
export type ListConfigResourcesRequest = RequestOf<typeof ListConfigResources>
export type ListConfigResourcesResponse = ResponseOf<typeof ListConfigResources>

import { api, array, bool, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const config = struct({
  name: string,
  configOperation: int8,
  value: string.nullable(),
})

const resource = struct({
  resourceType: int8,
  resourceName: string,
  configs: array(config),
})

const result = struct({
  errorCode: int16,
  errorMessage: string.nullable(),
  resourceType: int8,
  resourceName: string,
})

/**
 * Changes single configs of resources and leaves the others alone (KIP-339): 0 set, 1 delete, 2 append to a list, 3
 * subtract from it.
 */
export const IncrementalAlterConfigs = api({
  key: 44,
  name: 'IncrementalAlterConfigs',
  versions: [0, 1],
  flexible: 1,
  listeners: ['broker', 'controller'],
  request: struct({
    resources: array(resource),
    validateOnly: bool,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    responses: array(result),
  }),
})
export type IncrementalAlterConfigsRequest = RequestOf<typeof IncrementalAlterConfigs>
export type IncrementalAlterConfigsResponse = ResponseOf<typeof IncrementalAlterConfigs>

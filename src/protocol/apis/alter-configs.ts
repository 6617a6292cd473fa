import { api, array, bool, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const resource = struct({
  resourceType: int8,
  resourceName: string,
  configs: array(struct({ name: string, value: string.nullable() })),
})

const result = struct({
  errorCode: int16,
  errorMessage: string.nullable(),
  resourceType: int8,
  resourceName: string,
})

/**
 * Replaces the whole set of configs of a resource. Superseded by IncrementalAlterConfigs, since a client that does
 * not know them all resets what it leaves out.
 */
export const AlterConfigs = api({
  key: 33,
  name: 'AlterConfigs',
  versions: [0, 2],
  flexible: 2,
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
export type AlterConfigsRequest = RequestOf<typeof AlterConfigs>
export type AlterConfigsResponse = ResponseOf<typeof AlterConfigs>

import { api, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/** Removes a controller that will not come back from the cluster (KIP-1312). */
export const UnregisterController = api({
  key: 94,
  name: 'UnregisterController',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    controllerId: int32,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
  }),
})
export type UnregisterControllerRequest = RequestOf<typeof UnregisterController>
export type UnregisterControllerResponse = ResponseOf<typeof UnregisterController>

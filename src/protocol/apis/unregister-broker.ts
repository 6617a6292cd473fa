import { api, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/** Removes a broker that will not come back from the cluster (KIP-631). */
export const UnregisterBroker = api({
  key: 64,
  name: 'UnregisterBroker',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    brokerId: int32,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
  }),
})
export type UnregisterBrokerRequest = RequestOf<typeof UnregisterBroker>
export type UnregisterBrokerResponse = ResponseOf<typeof UnregisterBroker>

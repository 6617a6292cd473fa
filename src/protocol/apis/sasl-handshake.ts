import { api, array, int16, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

export const SaslHandshake = api({
  key: 17,
  name: 'SaslHandshake',
  versions: [0, 1],
  listeners: ['broker', 'controller'],
  request: struct({
    mechanism: string,
  }),
  response: struct({
    errorCode: int16,
    mechanisms: array(string),
  }),
})
export type SaslHandshakeRequest = RequestOf<typeof SaslHandshake>
export type SaslHandshakeResponse = ResponseOf<typeof SaslHandshake>

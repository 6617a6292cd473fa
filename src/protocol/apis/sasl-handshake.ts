import { api, array, int16, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/**
 * Chooses the SASL mechanism of the connection. Since version 1 the tokens that follow are SaslAuthenticate requests
 * (KIP-152), not raw frames.
 */
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

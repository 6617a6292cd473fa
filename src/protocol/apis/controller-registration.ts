import {
  api,
  array,
  bool,
  int16,
  int32,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uint16,
  uuid,
} from '../schema.ts'

const listener = struct({
  name: string,
  host: string,
  port: uint16,
  securityProtocol: int16,
})

const feature = struct({
  name: string,
  minSupportedVersion: int16,
  maxSupportedVersion: int16,
})

/** A controller announces its endpoints and features to the active one (KIP-919). */
export const ControllerRegistration = api({
  key: 70,
  name: 'ControllerRegistration',
  versions: [0, 0],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    controllerId: int32,
    incarnationId: uuid,
    zkMigrationReady: bool,
    listeners: array(listener),
    features: array(feature),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
  }),
})
export type ControllerRegistrationRequest = RequestOf<typeof ControllerRegistration>
export type ControllerRegistrationResponse = ResponseOf<typeof ControllerRegistration>

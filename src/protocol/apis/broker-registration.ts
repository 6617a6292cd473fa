import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
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

/**
 * A broker announces itself to the controller when it starts, and gets its epoch (KIP-631). Version 2 brings its log
 * directories (KIP-858), 3 the epoch of its last clean shutdown (KIP-966), 4 features from version 0.
 */
export const BrokerRegistration = api({
  key: 62,
  name: 'BrokerRegistration',
  versions: [0, 4],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    brokerId: int32,
    clusterId: string,
    incarnationId: uuid,
    listeners: array(listener),
    features: array(feature),
    rack: string.nullable(),
    isMigratingZkBroker: bool.since(1),
    logDirs: array(uuid).since(2).ignorable,
    previousBrokerEpoch: int64.since(3, { absent: -1 }).ignorable,
    // Ours: the incarnations that may have run last on these folders, however they ended. Each is on disk before it is sent.
    ownIncarnations: array(uuid).tag(10001),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    brokerEpoch: int64.default(-1),
  }),
})
export type BrokerRegistrationRequest = RequestOf<typeof BrokerRegistration>
export type BrokerRegistrationResponse = ResponseOf<typeof BrokerRegistration>

import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
  int8,
  type RequestOf,
  type ResponseOf,
  struct,
  uuid,
} from '../schema.ts'

/**
 * A broker says that it lives, how far it has replayed metadata, and what it wants: to be unfenced, to shut down
 * (KIP-631). Failed directories since version 1 (KIP-858), cordoned ones since 2 (KIP-1066).
 */
export const BrokerHeartbeat = api({
  key: 63,
  name: 'BrokerHeartbeat',
  versions: [0, 2],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    brokerId: int32,
    brokerEpoch: int64.default(-1),
    currentMetadataOffset: int64,
    // Before it has caught up a new broker wants to stay fenced.
    wantFence: bool,
    wantShutDown: bool,
    offlineLogDirs: array(uuid).since(1).tag(0),
    cordonedLogDirs: array(uuid).nullable().since(2, { absent: null }).tag(1),
    // Ours. Its disk has room (0), takes no records of clients (1), nor what coordinators write (2); -1: it does not say.
    outOfSpace: int8.default(-1).tag(10001),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    isCaughtUp: bool.default(false),
    isFenced: bool.default(true),
    shouldShutDown: bool,
  }),
})
export type BrokerHeartbeatRequest = RequestOf<typeof BrokerHeartbeat>
export type BrokerHeartbeatResponse = ResponseOf<typeof BrokerHeartbeat>

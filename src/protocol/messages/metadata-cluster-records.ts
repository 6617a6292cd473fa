import { array, bool, int16, int32, int64, int8, logRecord, string, struct, uint16, uuid } from '../schema.ts'

const endPoint = struct({
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
 * A broker registered: its endpoints, features and directories. The record's offset is the broker's epoch (KIP-631).
 */
export const RegisterBrokerRecord = logRecord({
  id: 0,
  name: 'RegisterBroker',
  versions: [0, 4],
  flexible: 0,
  fields: struct({
    brokerId: int32,
    isMigratingZkBroker: bool.since(2),
    incarnationId: uuid,
    brokerEpoch: int64,
    endPoints: array(endPoint),
    features: array(feature),
    rack: string.nullable(),
    fenced: bool.default(true),
    inControlledShutdown: bool.since(1),
    logDirs: array(uuid).since(3).tag(0),
    cordonedLogDirs: array(uuid).nullable().since(4, { absent: null }).tag(1),
    // Ours: see BrokerHeartbeat.
    outOfSpace: int8.default(0).tag(10001),
  }),
})

/** A broker is gone for good. */
export const UnregisterBrokerRecord = logRecord({
  id: 1,
  name: 'UnregisterBroker',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    brokerId: int32,
    brokerEpoch: int64,
  }),
})

/** Superseded by BrokerRegistrationChange; read for logs that old versions wrote. */
export const FenceBrokerRecord = logRecord({
  id: 7,
  name: 'FenceBroker',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    id: int32,
    epoch: int64,
  }),
})

/** Superseded by BrokerRegistrationChange; read for logs that old versions wrote. */
export const UnfenceBrokerRecord = logRecord({
  id: 8,
  name: 'UnfenceBroker',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    id: int32,
    epoch: int64,
  }),
})

/**
 * What changed about a registered broker. Zero, empty and null mean "as before"; for both flags 1 sets and -1
 * clears.
 */
export const BrokerRegistrationChangeRecord = logRecord({
  id: 17,
  name: 'BrokerRegistrationChange',
  versions: [0, 3],
  flexible: 0,
  fields: struct({
    brokerId: int32,
    brokerEpoch: int64,
    fenced: int8.tag(0),
    inControlledShutdown: int8.since(1).tag(1),
    logDirs: array(uuid).since(2).tag(2),
    cordonedLogDirs: array(uuid).nullable().since(3, { absent: null }).tag(3),
    // Ours; -1: as before.
    outOfSpace: int8.default(-1).tag(10001),
  }),
})

/** A controller registered with its endpoints and features (KIP-919). */
export const RegisterControllerRecord = logRecord({
  id: 27,
  name: 'RegisterController',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    controllerId: int32,
    incarnationId: uuid,
    zkMigrationReady: bool,
    endPoints: array(endPoint),
    features: array(feature),
  }),
})

/** A controller is gone for good (KIP-1312). */
export const UnregisterControllerRecord = logRecord({
  id: 29,
  name: 'UnregisterController',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    controllerId: int32,
  }),
})

/**
 * The finalized level of a feature; 0 removes it (KIP-584, KIP-778). That of metadata.version says how all records
 * after it are encoded.
 */
export const FeatureLevelRecord = logRecord({
  id: 12,
  name: 'FeatureLevel',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    name: string,
    featureLevel: int16,
  }),
})

/** A block of producer ids was given to a broker; `nextProducerId` is the first one still free (KIP-730). */
export const ProducerIdsRecord = logRecord({
  id: 15,
  name: 'ProducerIds',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    brokerId: int32,
    brokerEpoch: int64.default(-1),
    nextProducerId: int64,
  }),
})

/**
 * Changes nothing. The active controller writes it now and then, so that a quorum that is stuck or a replica that
 * lags shows (KIP-835).
 */
export const NoOpRecord = logRecord({
  id: 20,
  name: 'NoOp',
  versions: [0, 0],
  flexible: 0,
  fields: struct({}),
})

/**
 * The records up to the matching EndTransaction take effect together (KIP-868); for changes that do not fit one
 * batch.
 */
export const BeginTransactionRecord = logRecord({
  id: 23,
  name: 'BeginTransaction',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    name: string.nullable().default(null).tag(0),
  }),
})

/** Everything since BeginTransaction takes effect (KIP-868). */
export const EndTransactionRecord = logRecord({
  id: 24,
  name: 'EndTransaction',
  versions: [0, 0],
  flexible: 0,
  fields: struct({}),
})

/** Everything since BeginTransaction is as if it had not been written (KIP-868). */
export const AbortTransactionRecord = logRecord({
  id: 25,
  name: 'AbortTransaction',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    reason: string.nullable().default(null).tag(0),
  }),
})

/** Where the move away from ZooKeeper stood (KIP-866); in the logs of clusters that made it. */
export const ZkMigrationStateRecord = logRecord({
  id: 21,
  name: 'ZkMigrationState',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    zkMigrationState: int8,
  }),
})

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
  }),
})

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
  }),
})

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

export const UnregisterControllerRecord = logRecord({
  id: 29,
  name: 'UnregisterController',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    controllerId: int32,
  }),
})

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

export const NoOpRecord = logRecord({
  id: 20,
  name: 'NoOp',
  versions: [0, 0],
  flexible: 0,
  fields: struct({}),
})

export const BeginTransactionRecord = logRecord({
  id: 23,
  name: 'BeginTransaction',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    name: string.nullable().default(null).tag(0),
  }),
})

export const EndTransactionRecord = logRecord({
  id: 24,
  name: 'EndTransaction',
  versions: [0, 0],
  flexible: 0,
  fields: struct({}),
})

export const AbortTransactionRecord = logRecord({
  id: 25,
  name: 'AbortTransaction',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    reason: string.nullable().default(null).tag(0),
  }),
})

export const ZkMigrationStateRecord = logRecord({
  id: 21,
  name: 'ZkMigrationState',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    zkMigrationState: int8,
  }),
})

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
  string,
  struct,
} from '../schema.ts'

const broker = struct({
  brokerId: int32,
  host: string,
  port: int32,
  rack: string.nullable().default(null),
  isFenced: bool.since(2),
  // Ours: see BrokerHeartbeat.
  outOfSpace: int8.default(0).tag(10001),
})

/**
 * The brokers and the controller of the cluster (KIP-700); with endpoint type 2 the controllers (1, KIP-919). Since
 * version 2 fenced brokers on demand (KIP-1073).
 */
export const DescribeCluster = api({
  key: 60,
  name: 'DescribeCluster',
  versions: [0, 2],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    includeClusterAuthorizedOperations: bool,
    endpointType: int8.since(1, { absent: 1 }),
    includeFencedBrokers: bool.since(2),
    // Ours: the answer says also what the node that gives it is.
    includeSelf: bool.default(false).tag(10001),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable().default(null),
    endpointType: int8.since(1, { absent: 1 }),
    clusterId: string,
    controllerId: int32.default(-1),
    brokers: array(broker),
    clusterAuthorizedOperations: int32.default(-0x80000000),
    // Ours: of the node that answers, where it was asked for; -1 for what it does not know.
    softwareVersion: string.default('').tag(10001),
    wallTimeMs: int64.default(-1).tag(10002),
    descriptorLimit: int32.default(-1).tag(10003),
    memoryLimitBytes: int64.default(-1).tag(10004),
  }),
})
export type DescribeClusterRequest = RequestOf<typeof DescribeCluster>
export type DescribeClusterResponse = ResponseOf<typeof DescribeCluster>

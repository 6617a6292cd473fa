import { acknowledgementBatch, nodeEndpoint } from '../parts.ts'
import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
  int8,
  records,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  acknowledgementBatches: array(acknowledgementBatch),
})

const partitionResult = struct({
  partitionIndex: int32,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
  acknowledgeErrorCode: int16,
  acknowledgeErrorMessage: string.nullable().default(null),
  currentLeader: struct({ leaderId: int32, leaderEpoch: int32 }),
  records,
  acquiredRecords: array(struct({ firstOffset: int64, lastOffset: int64, deliveryCount: int16 })),
})

/**
 * Acquires records for a share consumer, and acknowledges those of the last fetch on the way (KIP-932). Version 2
 * can acquire by batch or by record (KIP-1206) and renew the locks (KIP-1222).
 */
export const ShareFetch = api({
  key: 78,
  name: 'ShareFetch',
  versions: [1, 2],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string.nullable().default(null),
    memberId: string.nullable(),
    shareSessionEpoch: int32,
    maxWaitMs: int32,
    minBytes: int32,
    maxBytes: int32.default(0x7fffffff),
    maxRecords: int32,
    batchSize: int32,
    shareAcquireMode: int8.since(2).ignorable,
    isRenewAck: bool.since(2),
    topics: array(struct({ topicId: uuid, partitions: array(partition) })),
    forgottenTopicsData: array(struct({ topicId: uuid, partitions: array(int32) })),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable().default(null),
    acquisitionLockTimeoutMs: int32,
    responses: array(struct({ topicId: uuid, partitions: array(partitionResult) })),
    nodeEndpoints: array(nodeEndpoint),
  }),
})
export type ShareFetchRequest = RequestOf<typeof ShareFetch>
export type ShareFetchResponse = ResponseOf<typeof ShareFetch>

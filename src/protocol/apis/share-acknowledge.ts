import { acknowledgementBatch, nodeEndpoint } from '../parts.ts'
import { api, array, bool, int16, int32, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  acknowledgementBatches: array(acknowledgementBatch),
})

const partitionResult = struct({
  partitionIndex: int32,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
  currentLeader: struct({ leaderId: int32, leaderEpoch: int32 }),
})

/**
 * Says what became of acquired records: 0 gap, 1 accept, 2 release, 3 reject (KIP-932), 4 renew the lock (2,
 * KIP-1222).
 */
export const ShareAcknowledge = api({
  key: 79,
  name: 'ShareAcknowledge',
  versions: [1, 2],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string.nullable().default(null),
    memberId: string.nullable(),
    shareSessionEpoch: int32,
    isRenewAck: bool.since(2),
    topics: array(struct({ topicId: uuid, partitions: array(partition) })),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable().default(null),
    acquisitionLockTimeoutMs: int32.since(2).ignorable,
    responses: array(struct({ topicId: uuid, partitions: array(partitionResult) })),
    nodeEndpoints: array(nodeEndpoint),
  }),
})
export type ShareAcknowledgeRequest = RequestOf<typeof ShareAcknowledge>
export type ShareAcknowledgeResponse = ResponseOf<typeof ShareAcknowledge>

import { leaderIdAndEpoch, nodeEndpoint } from '../parts.ts'
import {
  api,
  array,
  int16,
  int32,
  int64,
  records,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from '../schema.ts'

const topicData = struct({
  name: string.until(12).ignorable,
  topicId: uuid.since(13).ignorable,
  partitionData: array(struct({ index: int32, records: records.nullable() })),
})

const recordError = struct({
  batchIndex: int32,
  batchIndexErrorMessage: string.nullable().default(null),
})

const partitionResponse = struct({
  index: int32,
  errorCode: int16,
  baseOffset: int64,
  // -1 unless the topic stamps the time of appending.
  logAppendTimeMs: int64.default(-1),
  logStartOffset: int64.since(5, { absent: -1 }).ignorable,
  // The records for which the batch was refused.
  recordErrors: array(recordError).since(8).ignorable,
  errorMessage: string.nullable().since(8, { absent: null }).ignorable,
  currentLeader: leaderIdAndEpoch.since(10).tag(0),
})

const topicResponse = struct({
  name: string.until(12).ignorable,
  topicId: uuid.since(13).ignorable,
  partitionResponses: array(partitionResponse),
})

/**
 * Appends record batches to partitions: the write path. One batch per partition and request. Version 7 allows zstd
 * (KIP-110), 8 names the refused records (KIP-467), 10 tells the new leader in the refusal (KIP-951), 12 adds a
 * partition to its transaction by producing to it (KIP-890), 13 names topics by id (KIP-516). With acks 0 there is
 * no response at all. Kafka advertises versions from 0, since old librdkafka else turns compression off, but serves
 * none below 3 (KAFKA-18659).
 */
export const Produce = api({
  key: 0,
  name: 'Produce',
  versions: [3, 13],
  flexible: 9,
  listeners: ['broker'],
  request: struct({
    // Null for a producer without transactions.
    transactionalId: string.nullable().default(null),
    // 0: no answer; 1: the leader has it; -1: all in-sync replicas have it.
    acks: int16,
    timeoutMs: int32,
    topicData: array(topicData),
  }),
  response: struct({
    responses: array(topicResponse),
    throttleTimeMs: int32.default(0),
    nodeEndpoints: array(nodeEndpoint).since(10).tag(0),
  }),
})
export type ProduceRequest = RequestOf<typeof Produce>
export type ProduceResponse = ResponseOf<typeof Produce>

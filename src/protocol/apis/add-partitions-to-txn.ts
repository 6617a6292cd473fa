import { api, array, bool, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const topic = struct({
  name: string,
  partitions: array(int32),
})

const transaction = struct({
  transactionalId: string,
  producerId: int64,
  producerEpoch: int16,
  verifyOnly: bool.default(false),
  topics: array(topic),
})

const partitionResult = struct({
  partitionIndex: int32,
  partitionErrorCode: int16,
})

const topicResult = struct({
  name: string,
  resultsByPartition: array(partitionResult),
})

const transactionResult = struct({
  transactionalId: string,
  topicResults: array(topicResult),
})

/**
 * Tells the coordinator which partitions a transaction writes to, before they are written to. Up to version 3 it is
 * sent by producers; from 4 on by brokers, for several transactions at once, to verify or to add (KIP-890).
 */
export const AddPartitionsToTxn = api({
  key: 24,
  name: 'AddPartitionsToTxn',
  versions: [0, 5],
  flexible: 3,
  listeners: ['broker'],
  request: struct({
    transactions: array(transaction).since(4),
    v3AndBelowTransactionalId: string.until(3),
    v3AndBelowProducerId: int64.until(3),
    v3AndBelowProducerEpoch: int16.until(3),
    v3AndBelowTopics: array(topic).until(3),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16.since(4).ignorable,
    resultsByTransaction: array(transactionResult).since(4),
    resultsByTopicV3AndBelow: array(topicResult).until(3),
  }),
})
export type AddPartitionsToTxnRequest = RequestOf<typeof AddPartitionsToTxn>
export type AddPartitionsToTxnResponse = ResponseOf<typeof AddPartitionsToTxn>

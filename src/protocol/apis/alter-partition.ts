import { api, array, int16, int32, int64, int8, type RequestOf, type ResponseOf, struct, uuid } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  leaderEpoch: int32,
  newIsr: array(int32).until(2),
  newIsrWithEpochs: array(struct({ brokerId: int32, brokerEpoch: int64.default(-1) })).since(3),
  leaderRecoveryState: int8.default(0),
  // What the change is based on: refused when it is no longer the current one.
  partitionEpoch: int32,
})

const partitionResult = struct({
  partitionIndex: int32,
  errorCode: int16,
  leaderId: int32,
  leaderEpoch: int32,
  isr: array(int32),
  leaderRecoveryState: int8.default(0),
  partitionEpoch: int32,
})

/**
 * A leader asks the controller to change the set of in-sync replicas (KIP-497): a compare-and-set on the partition
 * epoch. Version 2 names topics by id, 3 the brokers with their epochs, so that none that restarted meanwhile slips
 * in (KIP-903).
 */
export const AlterPartition = api({
  key: 56,
  name: 'AlterPartition',
  versions: [2, 3],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    brokerId: int32,
    brokerEpoch: int64.default(-1),
    topics: array(struct({ topicId: uuid, partitions: array(partition) })),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    topics: array(struct({ topicId: uuid, partitions: array(partitionResult) })),
  }),
})
export type AlterPartitionRequest = RequestOf<typeof AlterPartition>
export type AlterPartitionResponse = ResponseOf<typeof AlterPartition>

import { CoordinatorRecordCodec, type CoordinatorRecordInput, type CoordinatorRecordOf } from '../message-codec.ts'
import { array, coordinatorRecord, int16, int32, int64, int8, string, struct } from '../schema.ts'

/**
 * A transactional id: its producer, and the state of its transaction (KIP-98). Version 1 is flexible, for the second
 * transaction version (KIP-890). States: 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete commit, 5
 * complete abort, 6 dead, 7 prepare epoch fence.
 */
export const TransactionLogRecord = coordinatorRecord({
  id: 0,
  name: 'TransactionLog',
  key: struct({ transactionalId: string }),
  versions: [0, 1],
  flexible: 1,
  value: struct({
    producerId: int64,
    previousProducerId: int64.since(1, { absent: -1 }).tag(0),
    nextProducerId: int64.since(1, { absent: -1 }).tag(1),
    producerEpoch: int16,
    nextProducerEpoch: int16.since(1, { absent: -1 }).tag(3),
    transactionTimeoutMs: int32,
    transactionStatus: int8,
    transactionPartitions: array(struct({ topic: string, partitionIds: array(int32) })).nullable(),
    transactionLastUpdateTimestampMs: int64,
    transactionStartTimestampMs: int64,
    clientTransactionVersion: int16.since(1).tag(2),
  }),
})

/** Every record of `__transaction_state`. */
export const transactionRecords = {
  TransactionLog: TransactionLogRecord,
} as const

export type TransactionRecord = CoordinatorRecordOf<typeof transactionRecords>
export type TransactionRecordInput = CoordinatorRecordInput<typeof transactionRecords>

const codec = new CoordinatorRecordCodec(transactionRecords)

/** Key and value of a record in `__transaction_state`. `version` is the value's. */
export function encodeTransactionRecord(
  record: TransactionRecordInput,
  version: number,
): { readonly key: Buffer; readonly value: Buffer | null } {
  return codec.encode(record, version)
}

/** Null for a kind of record that we do not know. */
export function decodeTransactionRecord(key: Buffer, value: Buffer | null): TransactionRecord | null {
  return codec.decode(key, value)
}

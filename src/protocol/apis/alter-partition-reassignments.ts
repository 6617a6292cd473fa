import { api, array, bool, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  replicas: array(int32).nullable().default(null),
})

const partitionResult = struct({
  partitionIndex: int32,
  errorCode: int16,
  errorMessage: string.nullable(),
})

/**
 * Moves partitions to other replicas, or stops moving them when `replicas` is null (KIP-455). Version 1 can forbid
 * to change the replication factor (KIP-860).
 */
export const AlterPartitionReassignments = api({
  key: 45,
  name: 'AlterPartitionReassignments',
  versions: [0, 1],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    timeoutMs: int32.default(60000),
    allowReplicationFactorChange: bool.since(1, { absent: true }),
    topics: array(struct({ name: string, partitions: array(partition) })),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    allowReplicationFactorChange: bool.since(1, { absent: true }).ignorable,
    errorCode: int16,
    errorMessage: string.nullable(),
    responses: array(struct({ name: string, partitions: array(partitionResult) })),
  }),
})
export type AlterPartitionReassignmentsRequest = RequestOf<typeof AlterPartitionReassignments>
export type AlterPartitionReassignmentsResponse = ResponseOf<typeof AlterPartitionReassignments>

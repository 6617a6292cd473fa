import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  replicas: array(int32),
  addingReplicas: array(int32),
  removingReplicas: array(int32),
})

/** The partitions that are being moved (KIP-455). */
export const ListPartitionReassignments = api({
  key: 46,
  name: 'ListPartitionReassignments',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    timeoutMs: int32.default(60000),
    topics: array(struct({ name: string, partitionIndexes: array(int32) }))
      .nullable()
      .default(null),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
    topics: array(struct({ name: string, partitions: array(partition) })),
  }),
})
export type ListPartitionReassignmentsRequest = RequestOf<typeof ListPartitionReassignments>
export type ListPartitionReassignmentsResponse = ResponseOf<typeof ListPartitionReassignments>

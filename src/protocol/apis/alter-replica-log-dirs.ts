import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const logDir = struct({
  path: string,
  topics: array(struct({ name: string, partitions: array(int32) })),
})

const result = struct({
  topicName: string,
  partitions: array(struct({ partitionIndex: int32, errorCode: int16 })),
})

/** Moves replicas to another of the broker's log directories (KIP-113). */
export const AlterReplicaLogDirs = api({
  key: 34,
  name: 'AlterReplicaLogDirs',
  versions: [1, 2],
  flexible: 2,
  listeners: ['broker'],
  request: struct({
    dirs: array(logDir),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    results: array(result),
  }),
})
export type AlterReplicaLogDirsRequest = RequestOf<typeof AlterReplicaLogDirs>
export type AlterReplicaLogDirsResponse = ResponseOf<typeof AlterReplicaLogDirs>

import { api, array, bool, int16, int32, int64, type RequestOf, type ResponseOf, struct, uuid } from '../schema.ts'

const topic = struct({
  topicId: uuid,
  partitions: array(
    struct({
      partitionIndex: int32,
      // Ours, of replicas in no directory that works: what is left of the log is not all that it promised.
      isDamaged: bool.default(false).tag(10001),
    }),
  ),
})

const topicResult = struct({
  topicId: uuid,
  partitions: array(struct({ partitionIndex: int32, errorCode: int16 })),
})

/**
 * A broker tells the controller in which of its directories replicas lie, so that a failed one is known to have
 * failed them (KIP-858).
 */
export const AssignReplicasToDirs = api({
  key: 73,
  name: 'AssignReplicasToDirs',
  versions: [0, 0],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    brokerId: int32,
    brokerEpoch: int64.default(-1),
    directories: array(struct({ id: uuid, topics: array(topic) })),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    directories: array(struct({ id: uuid, topics: array(topicResult) })),
  }),
})
export type AssignReplicasToDirsRequest = RequestOf<typeof AssignReplicasToDirs>
export type AssignReplicasToDirsResponse = ResponseOf<typeof AssignReplicasToDirs>

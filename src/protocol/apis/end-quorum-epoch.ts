import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct, uint16, uuid } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  leaderId: int32,
  leaderEpoch: int32,
  preferredSuccessors: array(int32).until(0).ignorable,
  preferredCandidates: array(struct({ candidateId: int32, candidateDirectoryId: uuid })).since(1).ignorable,
})

const partitionResult = struct({
  partitionIndex: int32,
  errorCode: int16,
  leaderId: int32,
  leaderEpoch: int32,
})

/** A leader of the quorum resigns and names who should stand next, in order (KIP-595). */
export const EndQuorumEpoch = api({
  key: 54,
  name: 'EndQuorumEpoch',
  versions: [0, 1],
  flexible: 1,
  listeners: ['controller'],
  request: struct({
    clusterId: string.nullable().default(null),
    topics: array(struct({ topicName: string, partitions: array(partition) })),
    leaderEndpoints: array(struct({ name: string, host: string, port: uint16 })).since(1).ignorable,
  }),
  response: struct({
    errorCode: int16,
    topics: array(struct({ topicName: string, partitions: array(partitionResult) })),
    nodeEndpoints: array(struct({ nodeId: int32, host: string, port: uint16 }))
      .since(1)
      .tag(0),
  }),
})
export type EndQuorumEpochRequest = RequestOf<typeof EndQuorumEpoch>
export type EndQuorumEpochResponse = ResponseOf<typeof EndQuorumEpoch>

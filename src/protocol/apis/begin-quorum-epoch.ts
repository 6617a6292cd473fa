import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct, uint16, uuid } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  voterDirectoryId: uuid.since(1).ignorable,
  leaderId: int32,
  leaderEpoch: int32,
})

const partitionResult = struct({
  partitionIndex: int32,
  errorCode: int16,
  leaderId: int32,
  leaderEpoch: int32,
})

/** A new leader of the quorum tells the voters (KIP-595); since version 1 with its endpoints (KIP-853). */
export const BeginQuorumEpoch = api({
  key: 53,
  name: 'BeginQuorumEpoch',
  versions: [0, 1],
  flexible: 1,
  listeners: ['controller'],
  request: struct({
    clusterId: string.nullable().default(null),
    voterId: int32.since(1, { absent: -1 }).ignorable,
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
export type BeginQuorumEpochRequest = RequestOf<typeof BeginQuorumEpoch>
export type BeginQuorumEpochResponse = ResponseOf<typeof BeginQuorumEpoch>

import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const partitionResult = struct({
  partitionId: int32,
  errorCode: int16,
  errorMessage: string.nullable(),
})

/**
 * Elects the preferred replicas as leaders (0), or any replica where no in-sync one is left (1, unclean, since
 * version 1, KIP-460).
 */
export const ElectLeaders = api({
  key: 43,
  name: 'ElectLeaders',
  versions: [0, 2],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    electionType: int8.since(1),
    topicPartitions: array(struct({ topic: string, partitions: array(int32) })).nullable(),
    timeoutMs: int32.default(60000),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16.since(1),
    replicaElectionResults: array(struct({ topic: string, partitionResult: array(partitionResult) })),
  }),
})
export type ElectLeadersRequest = RequestOf<typeof ElectLeaders>
export type ElectLeadersResponse = ResponseOf<typeof ElectLeaders>

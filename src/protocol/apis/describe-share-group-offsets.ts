import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const group = struct({
  groupId: string,
  topics: array(struct({ topicName: string, partitions: array(int32) })).nullable(),
})

const partition = struct({
  partitionIndex: int32,
  startOffset: int64,
  leaderEpoch: int32,
  lag: int64.since(1, { absent: -1 }).ignorable,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
})

const topic = struct({
  topicName: string,
  topicId: uuid,
  partitions: array(partition),
})

const groupResult = struct({
  groupId: string,
  topics: array(topic),
  errorCode: int16,
  errorMessage: string.nullable().default(null),
})

/** Where the share partitions of groups start (KIP-932), since version 1 with their lag (KIP-1226). */
export const DescribeShareGroupOffsets = api({
  key: 90,
  name: 'DescribeShareGroupOffsets',
  versions: [0, 1],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groups: array(group),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    groups: array(groupResult),
  }),
})
export type DescribeShareGroupOffsetsRequest = RequestOf<typeof DescribeShareGroupOffsets>
export type DescribeShareGroupOffsetsResponse = ResponseOf<typeof DescribeShareGroupOffsets>

import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const topic = struct({
  name: string,
  partitions: array(struct({ partitionIndex: int32, offset: int64 })),
})

const topicResult = struct({
  name: string,
  partitions: array(struct({ partitionIndex: int32, lowWatermark: int64, errorCode: int16 })),
})

/** Raises the start of partitions: everything before the offset is gone. Offset -1 means the high watermark. */
export const DeleteRecords = api({
  key: 21,
  name: 'DeleteRecords',
  versions: [0, 2],
  flexible: 2,
  listeners: ['broker'],
  request: struct({
    topics: array(topic),
    timeoutMs: int32,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    topics: array(topicResult),
  }),
})
export type DeleteRecordsRequest = RequestOf<typeof DeleteRecords>
export type DeleteRecordsResponse = ResponseOf<typeof DeleteRecords>

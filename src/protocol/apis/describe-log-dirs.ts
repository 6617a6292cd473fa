import { api, array, bool, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  partitionSize: int64,
  offsetLag: int64,
  isFutureKey: bool,
})

const result = struct({
  errorCode: int16,
  logDir: string,
  topics: array(struct({ name: string, partitions: array(partition) })),
  totalBytes: int64.since(4, { absent: -1 }).ignorable,
  usableBytes: int64.since(4, { absent: -1 }).ignorable,
  isCordoned: bool.since(5).ignorable,
  // Ours: directories of partitions that were set aside, and when the oldest goes (-1: never, or there is none).
  strayCount: int32.since(2, { absent: 0 }).default(0).tag(10001).ignorable,
  strayBytes: int64.since(2, { absent: 0 }).default(0).tag(10002).ignorable,
  strayUntilMs: int64.since(2, { absent: -1 }).default(-1).tag(10003).ignorable,
})

/**
 * The log directories of a broker with the size of each replica. Version 4 brings the disk's total and free bytes
 * (KIP-827), 5 says which take no new replicas (KIP-1066).
 */
export const DescribeLogDirs = api({
  key: 35,
  name: 'DescribeLogDirs',
  versions: [1, 5],
  flexible: 2,
  listeners: ['broker'],
  request: struct({
    topics: array(struct({ topic: string, partitions: array(int32) })).nullable(),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16.since(3).ignorable,
    results: array(result),
  }),
})
export type DescribeLogDirsRequest = RequestOf<typeof DescribeLogDirs>
export type DescribeLogDirsResponse = ResponseOf<typeof DescribeLogDirs>

import { api, array, int16, int32, int64, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  currentLeaderEpoch: int32.since(4, { absent: -1 }).ignorable,
  timestamp: int64,
  // Ours: offsets of groups, each with the time of an earlier commit; see docs/lag.md.
  positions: array(struct({ offset: int64, sinceMs: int64 }))
    .since(6)
    .tag(10001),
})

/** What lies at the positions asked for; -1 where there is none, or no end. */
const standing = struct({
  startOffset: int64.default(-1),
  highWatermark: int64.default(-1),
  positions: array(struct({ offset: int64, sinceMs: int64, recordMs: int64, leftMs: int64, endThen: int64 })),
})

const partitionResult = struct({
  partitionIndex: int32,
  errorCode: int16,
  timestamp: int64.default(-1),
  offset: int64.default(-1),
  leaderEpoch: int32.since(4, { absent: -1 }),
  standing: standing.since(6).tag(10001),
})

/**
 * Finds offsets by time. Besides a real timestamp there are -1 latest, -2 earliest, -3 that of the largest timestamp
 * (7, KIP-734), -4 earliest local (8, KIP-405), -5 latest tiered (9, KIP-1005), -6 earliest not yet tiered (11,
 * KIP-1023). Version 10 brings a time limit for remote reads (KIP-1075).
 */
export const ListOffsets = api({
  key: 2,
  name: 'ListOffsets',
  versions: [1, 11],
  flexible: 6,
  listeners: ['broker'],
  request: struct({
    replicaId: int32,
    isolationLevel: int8.since(2),
    topics: array(struct({ name: string, partitions: array(partition) })),
    timeoutMs: int32.since(10).ignorable,
  }),
  response: struct({
    throttleTimeMs: int32.since(2).ignorable,
    topics: array(struct({ name: string, partitions: array(partitionResult) })),
  }),
})
export type ListOffsetsRequest = RequestOf<typeof ListOffsets>
export type ListOffsetsResponse = ResponseOf<typeof ListOffsets>

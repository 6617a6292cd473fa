import { coordinatorRecord, int32, int64, string, struct, uuid } from '../schema.ts'

export const LegacyOffsetCommitRecord = coordinatorRecord({
  id: 0,
  name: 'LegacyOffsetCommit',
  key: struct({ group: string, topic: string, partition: int32 }),
  versions: [0, 0],
  value: struct({
    offset: int64,
    metadata: string,
    commitTimestamp: int64,
  }),
})

export const OffsetCommitRecord = coordinatorRecord({
  id: 1,
  name: 'OffsetCommit',
  key: struct({ group: string, topic: string, partition: int32 }),
  versions: [0, 4],
  flexible: 4,
  value: struct({
    offset: int64,
    leaderEpoch: int32.since(3, { absent: -1 }).ignorable,
    metadata: string,
    commitTimestamp: int64,
    expireTimestamp: int64.since(1, { absent: -1 }).until(1).ignorable,
    topicId: uuid.since(4).tag(0).ignorable,
  }),
})

import { array, coordinatorRecord, int32, int64, string, struct, uuid } from '../schema.ts'

/** Offsets as the first versions of Kafka's coordinator wrote them; only ever read. */
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

/**
 * How far a group has read a partition. Version 1 of the value was written for clients that set their own expiry and
 * still is for them; the time of expiry is otherwise counted from when the group became empty (KIP-211). Version 4
 * brings the topic id.
 */
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
    // Ours: offsets that were deleted before the group had read them, as [from, to).
    lost: array(struct({ from: int64, to: int64, at: int64 }))
      .since(4)
      .tag(10001).ignorable,
  }),
})

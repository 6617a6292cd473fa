import { array, int16, int32, int64, message, string, struct, uint16, uuid } from '../schema.ts'

export const ControlRecordTypeSchema = message({
  name: 'ControlRecordTypeSchema',
  versions: [0, 0],
  fields: struct({
    type: int16,
  }),
})

export const EndTxnMarker = message({
  name: 'EndTxnMarker',
  versions: [0, 0],
  fields: struct({
    coordinatorEpoch: int32,
  }),
})

const voter = struct({
  voterId: int32,
  voterDirectoryId: uuid.since(1),
})

export const LeaderChangeMessage = message({
  name: 'LeaderChangeMessage',
  versions: [0, 1],
  flexible: 0,
  fields: struct({
    leaderId: int32,
    voters: array(voter),
    grantingVoters: array(voter),
  }),
})

export const SnapshotHeaderRecord = message({
  name: 'SnapshotHeaderRecord',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    lastContainedLogTimestamp: int64,
  }),
})

export const SnapshotFooterRecord = message({
  name: 'SnapshotFooterRecord',
  versions: [0, 0],
  flexible: 0,
  fields: struct({}),
})

export const KRaftVersionRecord = message({
  name: 'KRaftVersionRecord',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    kRaftVersion: int16,
  }),
})

const votersRecordVoter = struct({
  voterId: int32,
  voterDirectoryId: uuid,
  endpoints: array(struct({ name: string, host: string, port: uint16 })),
  kRaftVersionFeature: struct({ minSupportedVersion: int16, maxSupportedVersion: int16 }),
})

export const VotersRecord = message({
  name: 'VotersRecord',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    voters: array(votersRecordVoter),
  }),
})

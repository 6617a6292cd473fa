import { array, int16, int32, int64, message, string, struct, uint16, uuid } from '../schema.ts'

/**
 * The key of a record in a control batch: 0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer,
 * 5 kraft version, 6 voters. The values are the messages below.
 */
export const ControlRecordTypeSchema = message({
  name: 'ControlRecordTypeSchema',
  versions: [0, 0],
  fields: struct({
    type: int16,
  }),
})

/**
 * Ends a producer's transaction in a partition; the key says how. The epoch is the coordinator's, so that an old
 * one's marker is refused (KIP-98).
 */
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

/**
 * The first record of a leader's epoch in the metadata log (KIP-595). Version 1, with directories, is written from
 * kraft.version 1 on (KIP-853).
 */
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

/** The first record of a snapshot (KIP-630). */
export const SnapshotHeaderRecord = message({
  name: 'SnapshotHeaderRecord',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    lastContainedLogTimestamp: int64,
  }),
})

/** The last record of a snapshot: without it the snapshot is not whole (KIP-630). */
export const SnapshotFooterRecord = message({
  name: 'SnapshotFooterRecord',
  versions: [0, 0],
  flexible: 0,
  fields: struct({}),
})

/** From here on the quorum works by this kraft.version: 1 allows voters to change (KIP-853). */
export const KRaftVersionRecord = message({
  name: 'KRaftVersionRecord',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    kRaftVersion: int16,
  }),
})

const voterWithEndpoints = struct({
  voterId: int32,
  voterDirectoryId: uuid,
  endpoints: array(struct({ name: string, host: string, port: uint16 })),
  kRaftVersionFeature: struct({ minSupportedVersion: int16, maxSupportedVersion: int16 }),
})

/**
 * The voters of the quorum from here on, with their endpoints; in force as soon as it is in the log, committed or
 * not (KIP-853).
 */
export const VotersRecord = message({
  name: 'VotersRecord',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    voters: array(voterWithEndpoints),
  }),
})

import { array, int16, int32, int64, message, string, struct, uint32, uuid } from '../schema.ts'

const producerEntry = struct({
  producerId: int64,
  epoch: int16,
  lastSequence: int32,
  lastOffset: int64,
  offsetDelta: int32,
  timestamp: int64,
  coordinatorEpoch: int32,
  currentTxnFirstOffset: int64,
})

/**
 * The state of a partition's producers at an offset: the file `<offset>.snapshot`. The CRC-32C covers what follows
 * it.
 */
export const ProducerSnapshot = message({
  name: 'ProducerSnapshot',
  versions: [1, 1],
  fields: struct({
    crc: uint32,
    producerEntries: array(producerEntry),
  }),
})

/**
 * An entry of a `.txnindex` file: an aborted transaction and the last stable offset when its marker came. Entries
 * are 34 bytes each.
 */
export const AbortedTxn = message({
  name: 'AbortedTxn',
  versions: [0, 0],
  fields: struct({
    producerId: int64,
    firstOffset: int64,
    lastOffset: int64,
    lastStableOffset: int64,
  }),
})

/**
 * What a node must remember about elections before it votes: the file `quorum-state`. There it stands as JSON, under
 * these names and with `data_version`, not in bytes. Version 1 is written from kraft.version 1 on (KIP-853).
 */
export const QuorumStateData = message({
  name: 'QuorumStateData',
  versions: [0, 1],
  flexible: 0,
  fields: struct({
    clusterId: string.until(0),
    leaderId: int32.default(-1),
    leaderEpoch: int32.default(-1),
    votedId: int32.default(-1),
    votedDirectoryId: uuid.since(1),
    appliedOffset: int64.until(0),
    currentVoters: array(struct({ voterId: int32 }))
      .nullable()
      .until(0),
  }),
})

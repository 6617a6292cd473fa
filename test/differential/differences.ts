import type { Difference } from './compare.ts'
import type { Body, Step } from './step.ts'

/** A difference with the request and the answers that it stands in. */
export interface Found extends Difference {
  readonly step: Step
  readonly sent: Body
  readonly answer: Body | undefined
  readonly ourAnswer: Body | undefined
  /** A DeleteRecords stands earlier in the sequence. */
  readonly recordsDeleted: boolean
  /** A Produce that would be sent again was refused earlier in the sequence. */
  readonly produceRefused: boolean
}

interface Entry {
  readonly id: string
  /** One or more, by comma; `*` for any. */
  readonly api: string
  /** Of the field, names only. */
  readonly path: RegExp
  readonly when?: (found: Found) => boolean
  readonly what: string
  readonly kafka: string
  readonly millrace: string
  readonly why: string
}

/** Records are stamped an hour before the run. */
const A_WHILE_MS = 1_800_000

/** Keys of the APIs that Kafka advertises to clients and Millrace does not serve yet. */
const NOT_SERVED = new Set([
  17, 24, 25, 26, 27, 28, 29, 30, 31, 34, 36, 38, 39, 40, 41, 48, 49, 50, 51, 65, 66, 68, 69, 71, 72, 76, 77, 78, 79,
  83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93,
])

export const differences: readonly Entry[] = [
  {
    id: 'durability.mode',
    api: 'CreateTopics, DescribeConfigs',
    path: /^(topics|results)\.configs\[\]$/,
    when: ({ ours }) => (ours as Body | undefined)?.['name'] === 'durability.mode',
    what: 'configs of a topic',
    kafka: 'has no such config',
    millrace: 'lists durability.mode',
    why: 'A topic chooses whether an acknowledgement waits for fsync; clients show configs that they do not know like any other.',
  },
  {
    id: 'min.insync.replicas of the cluster',
    api: 'CreateTopics, DescribeConfigs',
    path: /^(topics|results)\.configs\.(configSource|synonyms.*)$/,
    when: ({ at }) => at.includes('[min.insync.replicas]'),
    what: 'where the value of min.insync.replicas comes from',
    kafka: "sets it as the cluster's default when it is formatted, at 1 (KIP-966)",
    millrace: 'derives it from the number of nodes and replicas until somebody sets it',
    why: 'A default that was stored on one node would stay at 1 when more nodes join. The value that counts is the same here.',
  },
  {
    id: 'APIs not served',
    api: 'ApiVersions',
    path: /^apiKeys\[\]$/,
    when: ({ theirs, ours }) => ours === undefined && NOT_SERVED.has((theirs as Body)['apiKey'] as number),
    what: 'APIs that are advertised',
    kafka: 'also those of transactions, security, quotas, telemetry, and of consumer, share and streams groups',
    millrace: 'only what it serves',
    why: 'Clients ask for no more than what is advertised.',
  },
  {
    id: 'features not served',
    api: 'ApiVersions',
    path: /^(supported|finalized)Features/,
    when: ({ at }) => /\[(group|share|streams|transaction)\.version\]/.test(at),
    what: 'features that are advertised',
    kafka: 'also those of transactions and of consumer, share and streams groups',
    millrace: 'only those of what it serves',
    why: 'Clients use a feature only where it is finalized.',
  },
  {
    id: 'groups that nobody joined',
    api: 'DescribeGroups, ListGroups, DeleteGroups, OffsetDelete, OffsetCommit, JoinGroup',
    path: /^(groups\[\]|groups\.(groupState|errorCode|authorizedOperations)|results\.errorCode|errorCode|topics\[\]|topics\.partitions\.errorCode)$/,
    when: (found) => isGhost(found),
    what: 'a group of which only a member id was given out, and to which that member never came',
    kafka: 'lists it as Empty until the next check of expired offsets, ten minutes at most',
    millrace: 'has forgotten it',
    why: 'It never had a member or an offset, and nobody can rely on how long its name is remembered.',
  },
  {
    id: 'values as they were set',
    api: 'CreateTopics, DescribeConfigs',
    path: /^(topics|results)\.configs\.(value|synonyms\.value)$/,
    when: ({ theirs, ours }) => typeof theirs === 'string' && theirs !== ours && takenFor(theirs) === ours,
    what: 'the value of a config that was set with blanks, or as TRUE, or with a choice twice',
    kafka: 'shows what was set',
    millrace: 'shows what it is taken for: 5000, compact,delete, true',
    why: 'It is the same value.',
  },
  {
    id: 'overtaken requests',
    api: 'JoinGroup, SyncGroup',
    path: /^outcome$/,
    when: ({ theirs, ourAnswer }) => theirs === 'no answer' && ourAnswer?.['errorCode'] === REBALANCE_IN_PROGRESS,
    what: 'a request that waits in a group, when its member sends another one',
    kafka: 'forgets the first, and never answers it',
    millrace: 'answers the first with REBALANCE_IN_PROGRESS',
    why: 'A client that still waits for it is set free; others do not notice.',
  },
  {
    id: 'a protocol without a name',
    api: 'JoinGroup, SyncGroup',
    path: /^protocolName$/,
    when: ({ theirs, ours }) => theirs === null && ours === '',
    what: 'the chosen protocol of a group, when its name is empty',
    kafka: 'says null',
    millrace: 'says what was chosen',
    why: 'No client names a protocol so.',
  },
  {
    id: 'largest timestamp that was deleted',
    api: 'ListOffsets',
    path: /^topics\.partitions\.(timestamp|offset|leaderEpoch)$/,
    when: (found) => found.recordsDeleted && isOfDeletedRecord(found),
    what: 'the record with the largest timestamp (-3), when DeleteRecords has deleted it',
    kafka: 'names it all the same',
    millrace: 'names the one among those that can be read, or none',
    why: 'The offset that Kafka names is out of range.',
  },
  {
    id: 'client of a static member',
    api: 'DescribeGroups',
    path: /^groups\.members\.clientId$/,
    when: (found) => isOfStaticMember(found),
    what: 'the client id and host of a static member, when another client has taken its place',
    kafka: 'shows the first client that was in this place',
    millrace: 'shows the one that is there',
    why: 'Who looks for a consumer must find the process that runs.',
  },
  {
    id: 'time of a batch that came twice',
    api: 'Produce',
    path: /^responses\.partitionResponses\.logAppendTimeMs$/,
    // A time of appending would be that of this run: what Kafka names is the producer's.
    when: ({ theirs, ours }) => ours === -1 && Number(theirs) > 0 && Number(theirs) < Date.now() - A_WHILE_MS,
    what: 'the time of appending, of a batch that the log has already, in a topic with the times of producers',
    kafka: "names the batch's largest timestamp, though the topic stamps none",
    millrace: 'says -1, as it did the first time',
    why: 'The answer to a batch that is sent again is the one that was lost.',
  },
  {
    id: 'in the place of a refused batch',
    api: 'Produce',
    path: /^responses\.partitionResponses\.errorCode$/,
    when: isInPlaceOfRefused,
    what: 'a batch of a producer that the log does not know, when one before it was refused for the time being (NOT_ENOUGH_REPLICAS, NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION and their like) and has not come again',
    kafka: 'appends it; the refused one, sent again, is out of order for ever (KAFKA-14359)',
    millrace:
      'refuses it with OUT_OF_ORDER_SEQUENCE_NUMBER, as one of a producer that the log knows; in a new epoch, or ten minutes later, it appends it',
    why: 'With several batches in flight the first would never be acknowledged, or come after its successors. Clients send both again, in order.',
  },
  {
    id: 'reason instead of UNKNOWN_SERVER_ERROR',
    api: '*',
    path: /errorCode$/i,
    when: ({ theirs, ours }) => theirs === -1 && typeof ours === 'number' && ours > 0,
    what: 'senseless values that Kafka has no check for',
    kafka: 'fails inside and answers UNKNOWN_SERVER_ERROR',
    millrace: 'names what is wrong, mostly INVALID_REQUEST',
    why: 'Neither code makes a client try again, and ours says more.',
  },
]

function isOfDeletedRecord({ sent, path, theirs, ours }: Found): boolean {
  const topics = sent['topics'] as { partitions: { timestamp: number }[] }[]
  if (!topics.some(({ partitions }) => partitions.some(({ timestamp }) => timestamp === MAX_TIMESTAMP))) return false
  if (ours === -1) return true
  return path.endsWith('timestamp') ? Number(ours) < Number(theirs) : Number(ours) > Number(theirs)
}

const MAX_TIMESTAMP = -3

/** A static member's id begins with the name of its instance. */
function isOfStaticMember({ ourAnswer, ours }: Found): boolean {
  const groups = (ourAnswer?.['groups'] ?? []) as { members: { memberId: string; clientId: string }[] }[]
  return groups.some(({ members }) =>
    members.some(({ memberId, clientId }) => /^i\d-/.test(memberId) && clientId === ours),
  )
}

function takenFor(value: string): string {
  const parts = value.split(',').map((part) => part.trim().toLowerCase())
  return [...new Set(parts)].join(',')
}

const REBALANCE_IN_PROGRESS = 27
const GROUP_ID_NOT_FOUND = 69
const INCONSISTENT_GROUP_PROTOCOL = 23
const UNKNOWN_MEMBER_ID = 25

const OUT_OF_ORDER_SEQUENCE_NUMBER = 45

/** From there on the two logs differ. */
export function isInPlaceOfRefused({ step, theirs, ours, produceRefused }: Found): boolean {
  return step.api.name === 'Produce' && produceRefused && theirs === 0 && ours === OUT_OF_ORDER_SEQUENCE_NUMBER
}

/** Kafka answers as of an empty group without a protocol, Millrace as of none. */
function isGhost({ step, path, theirs, ours }: Found): boolean {
  if (path === 'groups.groupState') return theirs === 'Empty' && ours === 'Dead'
  if (path === 'groups.authorizedOperations') return step.version >= 6
  if (path === 'groups[]') return ours === undefined && (theirs as Body)['protocolType'] === ''
  if (path === 'topics[]') return step.api.name === 'OffsetDelete' && ours === undefined
  if (step.api.name === 'JoinGroup') return theirs === INCONSISTENT_GROUP_PROTOCOL && ours === UNKNOWN_MEMBER_ID
  if (step.api.name === 'OffsetCommit') return theirs === UNKNOWN_MEMBER_ID && ours === GROUP_ID_NOT_FOUND
  return theirs === 0 && ours === GROUP_ID_NOT_FOUND
}

/** The entry of the table that explains a difference, by its id. */
export function explained(found: Found): string | null {
  const entry = differences.find(
    ({ api, path, when }) =>
      (api === '*' || api.split(', ').includes(found.step.api.name)) &&
      path.test(found.path) &&
      (when?.(found) ?? true),
  )
  return entry?.id ?? null
}

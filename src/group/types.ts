import type { Random } from '../base/random.ts'
import type { Note, Outcome, Reply, Ticket } from '../model/shard.ts'
import type { GroupRecord } from './records.ts'
import type { GroupResponse } from './requests.ts'

/** Limits and times of the coordinator; the names of Kafka's broker configs in brackets. May be replaced while running. */
export interface GroupConfig {
  /** [group.min.session.timeout.ms] */
  readonly minSessionTimeoutMs: number
  /** [group.max.session.timeout.ms] */
  readonly maxSessionTimeoutMs: number
  /** How long the first rebalance of an empty group waits for more members [group.initial.rebalance.delay.ms]. */
  readonly initialRebalanceDelayMs: number
  /** Members of one group [group.max.size]. */
  readonly groupSizeMax: number
  /** Bytes of the text kept with one offset [offset.metadata.max.bytes]. */
  readonly offsetMetadataBytesMax: number
  /** [offsets.retention.minutes] */
  readonly offsetRetentionMs: number
  /** [offsets.retention.check.interval.ms] */
  readonly expiryIntervalMs: number
  /** Of one record's key and value: what fits a batch of the coordinator's topic with room to spare. */
  readonly recordBytesMax: number
}

/** Kafka's defaults. */
export const DEFAULT_GROUP_CONFIG: GroupConfig = {
  minSessionTimeoutMs: 6000,
  maxSessionTimeoutMs: 1_800_000,
  initialRebalanceDelayMs: 3000,
  groupSizeMax: 2 ** 31 - 1,
  offsetMetadataBytesMax: 4096,
  offsetRetentionMs: 7 * 24 * 3600 * 1000,
  expiryIntervalMs: 600_000,
  recordBytesMax: 1_000_000,
}

export type GroupOutcome = Outcome<GroupRecord, GroupResponse>

/** Collects an outcome while it is being worked out. */
export class Draft implements GroupOutcome {
  readonly records: GroupRecord[] = []
  readonly replies: Reply<GroupResponse>[] = []
  readonly notes: Note[] = []
  seen = -1

  reply(ticket: Ticket, response: GroupResponse): void {
    this.replies.push({ ticket, response })
  }

  note(message: string, fields: Note['fields'], level: NonNullable<Note['level']> = 'info'): void {
    this.notes.push({ level, message, fields })
  }

  /** The replies depend on what was written up to `offset`. */
  saw(offset: number): void {
    this.seen = Math.max(this.seen, offset)
  }
}

/** What the parts of a shard share. */
export interface ShardContext {
  readonly config: GroupConfig
  readonly random: Random
}

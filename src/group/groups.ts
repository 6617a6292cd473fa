import type { Alarms } from './alarms.ts'
import { ClassicGroup } from './classic-group.ts'
import type { OffsetValue } from './records.ts'
import type { GroupRisk } from './retention-risk.ts'

/** A committed offset with the place of its own record, by which a later transaction marker tells which is newer. */
export interface StoredOffset extends OffsetValue {
  readonly recordOffset: number
  /** An earlier commit, for the pace of the group; null for the first one. */
  readonly anchor: { readonly offset: number; readonly commitTimestampMs: number } | null
}

/** Topic, then partition. */
export type Offsets = Map<string, Map<number, StoredOffset>>

/**
 * Everything under one group id: the membership and the offsets. It exists while it has a member (or one that was
 * promised a place), an offset, or a record in the log.
 */
export class Group {
  readonly groupId: string
  readonly classic: ClassicGroup
  readonly offsets: Offsets = new Map()
  /** Offsets of open transactions, by producer id: not visible yet. */
  readonly transactions = new Map<number, Offsets>()
  /** A group record is in the log, so removing the group takes a tombstone. */
  isPersisted = false
  /** Of a kind that this node does not coordinate: see `GroupRecord`. */
  isForeign = false
  /** Offset of the newest record about this group. */
  lastRecordOffset = -1
  /** Null while it has lost nothing to retention and is not about to. */
  risk: GroupRisk | null = null

  constructor(groupId: string, wallMs: number) {
    this.groupId = groupId
    this.classic = new ClassicGroup(groupId, wallMs)
  }

  /** Nobody would miss it. */
  get isUnused(): boolean {
    const { members, pendingJoins } = this.classic
    return (
      !this.isPersisted &&
      !this.isForeign &&
      members.size === 0 &&
      pendingJoins.size === 0 &&
      this.classic.state === 'Empty' &&
      this.offsets.size === 0 &&
      this.transactions.size === 0
    )
  }

  hasPendingOffset(topic: string, partition: number): boolean {
    for (const offsets of this.transactions.values()) {
      if (offsets.get(topic)?.has(partition)) return true
    }
    return false
  }
}

/** The groups of one shard. */
export class Groups {
  readonly #byId = new Map<string, Group>()
  readonly #alarms: Alarms
  /** Offset of the newest record that made a group go: what "there is no such group" depends on. */
  lastRemovalOffset = -1

  constructor(alarms: Alarms) {
    this.#alarms = alarms
  }

  get size(): number {
    return this.#byId.size
  }

  get(groupId: string): Group | undefined {
    return this.#byId.get(groupId)
  }

  getOrCreate(groupId: string, wallMs: number): Group {
    let group = this.#byId.get(groupId)
    if (group === undefined) {
      group = new Group(groupId, wallMs)
      this.#byId.set(groupId, group)
    }
    return group
  }

  /** In the order in which they came; groups may come and go while this is walked. */
  values(): IterableIterator<Group> {
    return this.#byId.values()
  }

  /** Removes the group when it is unused. */
  sweep(group: Group): void {
    if (!group.isUnused || this.#byId.get(group.groupId) !== group) return
    this.#alarms.cancel(group.classic.joinAlarm)
    this.#alarms.cancel(group.classic.syncAlarm)
    this.#byId.delete(group.groupId)
    this.lastRemovalOffset = Math.max(this.lastRemovalOffset, group.lastRecordOffset)
  }
}

export function putOffset(offsets: Offsets, topic: string, partition: number, value: StoredOffset): void {
  const partitions = offsets.get(topic)
  if (partitions === undefined) offsets.set(topic, new Map([[partition, value]]))
  else partitions.set(partition, value)
}

export function removeOffset(offsets: Offsets, topic: string, partition: number): void {
  const partitions = offsets.get(topic)
  if (partitions === undefined) return
  partitions.delete(partition)
  if (partitions.size === 0) offsets.delete(topic)
}

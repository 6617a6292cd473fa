import type { Group, Groups, StoredOffset } from './groups.ts'
import { areDifferentTopics, offsetTombstone } from './offset-commits.ts'
import type { Moment } from '../model/shard.ts'
import type { Draft, ShardContext } from './types.ts'

/** Offsets looked at in one step, so that a shard with a million of them does not hold up its node. */
const OFFSETS_PER_STEP = 1000
/** Between two steps of one round. */
const STEP_PAUSE_MS = 10

/**
 * Removes what nobody has used for the retention time. When that counts from depends on who could still need the offset
 * (KIP-211): while a group has members it is the commit, and only for topics they do not read; once it is empty it is
 * the moment it became so. A group goes with its last offset.
 */
export class Expiry {
  readonly #context: ShardContext
  readonly #groups: Groups
  #round: IterableIterator<Group> | null = null

  constructor(context: ShardContext, groups: Groups) {
    this.#context = context
    this.#groups = groups
  }

  /** Does one step and says in how many milliseconds the next is due. */
  step(moment: Moment, draft: Draft): number {
    const { expiryIntervalMs } = this.#context.config
    if (moment.refusal !== null) return expiryIntervalMs
    this.#round ??= this.#groups.values()
    let left = OFFSETS_PER_STEP
    while (left > 0) {
      const next = this.#round.next()
      if (next.done) {
        this.#round = null
        return expiryIntervalMs
      }
      left -= 1 + this.#expire(next.value, moment, draft)
    }
    return STEP_PAUSE_MS
  }

  /** Returns how many offsets it looked at. */
  #expire(group: Group, moment: Moment, draft: Draft): number {
    if (group.isForeign) return 0
    const since = expiryBase(group)
    let looked = 0
    let isKept = false
    for (const [topic, partitions] of group.offsets) {
      looked += partitions.size
      const isInUse = since === null || group.classic.isSubscribedTo(topic)
      for (const [partition, stored] of partitions) {
        const expires = !isInUse && this.#hasExpired(stored, since(stored), moment.deletionMs)
        if (expires && !group.hasPendingOffset(topic, partition)) {
          draft.records.push(offsetTombstone(group.groupId, topic, partition))
        } else isKept = true
      }
    }
    const { state, pendingJoins } = group.classic
    const isOver = !isKept && state === 'Empty' && pendingJoins.size === 0 && group.transactions.size === 0
    if (isOver && group.isPersisted) draft.records.push({ type: 'group', groupId: group.groupId, value: null })
    return looked
  }

  #hasExpired({ expireTimestampMs }: StoredOffset, sinceMs: number, nowMs: number): boolean {
    if (expireTimestampMs >= 0) return nowMs >= expireTimestampMs
    return nowMs - sinceMs >= this.#context.config.offsetRetentionMs
  }

  /** The topics are gone: nobody can ever read from these offsets again. */
  forgetTopics(topics: ReadonlyMap<string, string>, draft: Draft): void {
    for (const group of this.#groups.values()) {
      for (const [name, topicId] of topics) {
        for (const [partition, stored] of group.offsets.get(name) ?? []) {
          // A topic of the same name may have been created already, and the group may read it.
          if (areDifferentTopics(stored.topicId, topicId)) continue
          draft.records.push(offsetTombstone(group.groupId, name, partition))
        }
      }
    }
  }
}

/** Since when an offset of this group has been of no use; null when all are in use. */
function expiryBase({ classic }: Group): ((stored: StoredOffset) => number) | null {
  const sinceCommit = ({ commitTimestampMs }: StoredOffset) => commitTimestampMs
  if (classic.protocolType === null) return sinceCommit
  if (classic.state === 'Empty') {
    const { stateTimestampMs } = classic
    return stateTimestampMs < 0 ? sinceCommit : () => stateTimestampMs
  }
  const knowsTopics = classic.usesConsumerProtocol && classic.topics !== null
  return knowsTopics && classic.state === 'Stable' ? sinceCommit : null
}

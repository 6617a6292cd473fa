import { assert, bug, unreachable } from '../base/assert.ts'
import { partitionName, type TopicId, type TopicPartition } from '../model/ids.ts'
import { PartitionFollower } from '../partition/follower.ts'
import type { FollowerEffect, FollowerInput, FollowerLog } from '../partition/follower-types.ts'
import { PartitionLeader } from '../partition/leader.ts'
import type { Effect, EligibleBroker, Input, Registration } from '../partition/types.ts'
import type { BatchLimits } from '../protocol/batch/validate.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { CorruptLogError } from '../storage/errors.ts'
import type { LogOutlook } from '../storage/log-outlook.ts'
import type { AppendRefusal } from '../storage/log-state.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import type { AckWait } from './ack-queue.ts'
import { Audience } from './audience.ts'
import type { Deadlines, Expiring } from './deadlines.ts'
import type { TopicSettings } from './topic-settings.ts'
import { TopicTraffic } from './topic-traffic.ts'

/** Whoever fetches for this node what another one leads. */
export interface FollowerDriver {
  /** `writtenOffset` or `durableOffset` has grown, or the log has failed. */
  logProgressed(): void
  /** What the log begins with has gone, as at the leader. */
  startAdvanced(): void
}

export interface PartitionEvents {
  /** Monotonic. */
  nowMs(): number
  readonly deadlines: Deadlines
  /** See `LeadershipChecks`. */
  isStillLed(partition: Partition): Promise<boolean>
  proposeIsr(partition: Partition, effect: Extract<Effect, { type: 'propose-isr' }>): void
  /** Of its log, while this node leads: see `ReplicaEvents`. */
  outlook?(partition: Partition, outlook: Partial<LogOutlook>): void
  /** The log failed for good; it has been told to everyone who waited here. */
  failed(partition: Partition, error: Error): void
}

export interface LeadOptions {
  readonly nodeId: number
  readonly leaderEpoch: number
  readonly registration: Registration
  readonly eligible: readonly EligibleBroker[]
  readonly lagTimeMaxMs: number
  readonly nowMs: number
}

/** A successor that has not been heard by then is not waited for: its clients find out for themselves. */
const HANDOVER_MS_MAX = 300
/** A predecessor that has not heard of its successor by then is not waited for: it keeps what nobody else has. */
const TAKEOVER_MS_MAX = 50

export interface FollowOptions {
  readonly leaderId: number
  readonly leaderEpoch: number
}

/**
 * One replica on this node: its log on disk and the machine of its part, leader or follower, with everyone who waits for
 * either. It lives from the opening of the log to the deletion of the topic, or the end of the process. A replica whose
 * log cannot be opened, or has failed, has `log` null or a latched `failure`: it is offline and only says so.
 */
export class Partition implements Expiring {
  readonly topicPartition: TopicPartition
  readonly topicId: TopicId
  /** `orders-3` */
  readonly name: string
  readonly log: PartitionLog | null
  /** Why `log` is null. */
  readonly openError: Error | null
  /** As the last image had them; -1 for no leader. */
  leaderId = -1
  leaderEpoch = -1
  /** The last in which this log was led or followed: no fetch tells of it in a later one. -1: it never was. */
  usedEpoch = -1
  leader: PartitionLeader | null = null
  /** While another node leads; never with `leader`. */
  follower: PartitionFollower | null = null
  /** Of `follower`, once something is fetched for it. */
  followerDriver: FollowerDriver | null = null
  settings: TopicSettings
  limits: BatchLimits
  /** Shared by the partitions of the topic on this node. */
  traffic = new TopicTraffic()
  /** The topic is gone, or this node holds no replica of it any more. */
  removed = false
  /** From the checkpoint, then from the machine; never above the end of the log. */
  #highWatermark: number
  readonly audience = new Audience()
  /** Of the handover; 0: there is none, or it is over. */
  deadlineSlot = 0
  /** The epoch that this node has led until just now, while its successor has not been heard as the leader; else -1. */
  handedOverEpoch = -1
  /** This node is to lead, and waits for the rest of what its predecessor has. */
  #takeover: { readonly leaderEpoch: number; begin: (() => void) | null } | null = null
  /** A truncation under way; it does not reject. */
  #rearranging: Promise<void> | null = null
  #isAdvancing = false
  readonly #events: PartitionEvents

  constructor(
    identity: { topicPartition: TopicPartition; topicId: TopicId },
    opened: { log: PartitionLog; highWatermark: number } | { error: Error },
    settings: TopicSettings,
    events: PartitionEvents,
  ) {
    this.topicPartition = identity.topicPartition
    this.topicId = identity.topicId
    this.name = partitionName(identity.topicPartition)
    this.log = 'log' in opened ? opened.log : null
    this.openError = 'error' in opened ? opened.error : null
    this.#highWatermark = 'log' in opened ? clamp(opened.highWatermark, opened.log) : 0
    this.settings = settings
    this.limits = { ...settings.batchLimits, partition: this.name }
    this.#events = events
    if (this.log !== null) {
      this.log.listener = {
        progressed: () => this.#progressed(),
        startMoved: ({ logStartOffset: startOffset }) => this.#foresee({ startOffset }),
        retained: (_log, outlook) => this.#foresee(outlook),
        failed: (_log: PartitionLog, error: Error) => this.#failed(error),
      }
    }
  }

  get isOffline(): boolean {
    return this.log === null || this.log.failure !== null
  }

  /** It is offline because its files are not what they were: only another replica can tell what they should hold. */
  get isDamaged(): boolean {
    return (this.openError ?? this.log?.failure) instanceof CorruptLogError
  }

  /** Why nothing can be appended now, though this node leads; null when it can. */
  get appendRefusal(): AppendRefusal | null {
    const { log, leader } = this
    if (log === null || leader === null) return null
    const { latest } = log.epochs
    if (leader.leaderEpoch >= latest) return log.refusal
    // Files of another cluster, or metadata older than the data: readable, but nothing can follow on them.
    const message = `the log holds records of leader epoch ${latest}, the present one is ${leader.leaderEpoch}`
    return { kind: 'failed', message }
  }

  get highWatermark(): number {
    return this.#highWatermark
  }

  /** What a reader may see ends here. Only with a log. */
  readLimit(readCommitted: boolean): number {
    const { log } = this
    assert(log !== null, `${this.name} has no log`)
    return readCommitted ? log.lastStableOffset(this.#highWatermark) : this.#highWatermark
  }

  /** A new leadership of this node begins, or the present one has a newer registration. */
  lead(options: LeadOptions): 'began' | 'goes on' | 'offline' {
    const { log } = this
    if (log === null || log.failure !== null) return 'offline'
    if (this.leader?.leaderEpoch === options.leaderEpoch) {
      const { registration, eligible } = options
      this.#perform(this.leader.step({ type: 'registered', registration, eligible }))
      this.#checkLowWatermark()
      return 'goes on'
    }
    assert(this.#rearranging === null, `${this.name} is led while it is being truncated`)
    this.#endLeadership(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    this.#endFollowing()
    log.keepsTail = true
    log.assignLeaderEpoch(options.leaderEpoch)
    this.usedEpoch = options.leaderEpoch
    this.leader = new PartitionLeader({
      ...options,
      durability: this.settings.log.durabilityMode,
      minInsyncReplicas: this.settings.minInsyncReplicas,
      endOffset: log.endOffset,
      writtenOffset: log.writtenOffset,
      durableOffset: log.durableOffset,
      highWatermark: this.#highWatermark,
    })
    this.#progressed()
    this.audience.wake()
    return 'began'
  }

  /** Another node leads, in an epoch that is new here. */
  follow({ leaderId, leaderEpoch }: FollowOptions): PartitionFollower | null {
    const { log } = this
    if (log === null || log.failure !== null) return null
    // The successor may lack some of it.
    log.keepsTail = this.isHandingOver
    this.#endFollowing()
    this.usedEpoch = leaderEpoch
    this.follower = new PartitionFollower({ leaderId, leaderEpoch, highWatermark: this.#highWatermark })
    return this.follower
  }

  /** No node leads, or the part that this one had is another's now. */
  resign(): void {
    this.#endLeadership(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    this.#endFollowing()
    this.audience.wake()
  }

  /**
   * Another node leads from now on, and may hear of it a moment later than this one. A client that was sent there too soon
   * would be refused again, and pause; so whoever is refused here hears of it when the successor answers our fetches. What
   * was appended here is acknowledged all the same, once it is committed there.
   */
  handOver(): void {
    if (this.leader !== null) {
      this.handedOverEpoch = this.leader.leaderEpoch
      this.#events.deadlines.add(this, HANDOVER_MS_MAX)
    }
    this.leader = null
    this.audience.handOver(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    this.#endFollowing()
    this.audience.wake()
  }

  get isHandingOver(): boolean {
    return this.handedOverEpoch >= 0
  }

  /**
   * The other side of it: this node is to lead in `leaderEpoch`, after one that it still follows. False: at once. True: as
   * soon as that one has given all it had, and refuses to give more; `begin` is called then. What the two have is equal then,
   * and nothing has to be cut off before records are committed again.
   */
  takesOver(leaderEpoch: number, begin: () => void): boolean {
    const { follower } = this
    if (this.#takeover?.leaderEpoch === leaderEpoch) return this.#takeover.begin !== null
    const isNext = follower?.state === 'fetching' && follower.leaderEpoch === leaderEpoch - 1
    if (!isNext || this.deadlineSlot !== 0) return false
    this.#takeover = { leaderEpoch, begin }
    this.#events.deadlines.add(this, TAKEOVER_MS_MAX)
    return true
  }

  #takeOver(): void {
    const begin = this.#takeover?.begin
    if (!this.#takeover || !begin) return
    this.#takeover.begin = null
    if (this.deadlineSlot !== 0) this.#events.deadlines.remove(this)
    begin()
  }

  /** The successor is not heard, or commits nothing; or the predecessor does not end. */
  expired(): void {
    this.#endHandover()
    this.audience.fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    this.#takeOver()
  }

  #endHandover(): void {
    if (!this.isHandingOver) return
    this.handedOverEpoch = -1
    if (this.leader === null && this.log !== null) this.log.keepsTail = false
  }

  /** The replica leaves this node; the log is closed and deleted by the caller. */
  remove(errorCode: number): void {
    this.removed = true
    this.#endLeadership(errorCode)
    this.#endFollowing()
    if (this.log !== null) this.log.listener = null
    this.audience.wake()
  }

  reconfigure(settings: TopicSettings): void {
    this.settings = settings
    this.limits = { ...settings.batchLimits, partition: this.name }
    if (this.log !== null) this.log.config = settings.log
    if (this.leader === null) return
    const { durabilityMode: durability } = settings.log
    const { minInsyncReplicas } = settings
    this.#perform(this.leader.step({ type: 'configured', durability, minInsyncReplicas }))
    this.audience.kept(this.leader.keptOffset)
  }

  tick(nowMs: number): void {
    if (this.leader !== null) this.#perform(this.leader.step({ type: 'tick', nowMs }))
  }

  /** Appends what has been validated, as the leader of `leader`'s epoch. Returns the base offset. */
  append(batch: Buffer, wallMs: number): number {
    const { log, leader } = this
    if (log === null || leader === null) bug(`append to ${this.name}, which is not led here`)
    const { baseOffset } = log.appendAsLeader(batch, { leaderEpoch: leader.leaderEpoch, wallMs })
    this.#progressed()
    this.audience.wakeReplicas()
    return baseOffset
  }

  /** Appends what the leader sent, as it came. Throws as `PartitionLog.appendAsFollower` does. */
  appendAsFollower(batches: Buffer): void {
    const { log } = this
    if (log === null || this.follower === null) bug(`${this.name} is not followed here`)
    log.appendAsFollower(batches)
  }

  /** A follower asked for records from `endOffset` on: see `PartitionLeader`. */
  fetched(fetch: Omit<Extract<Input, { type: 'fetched' }>, 'type'>): void {
    if (this.leader === null) return
    this.#perform(this.leader.step({ type: 'fetched', ...fetch }))
    this.#checkLowWatermark()
  }

  /** The least start offset of the replicas that are alive; -1 where one of them has not told. */
  get lowWatermark(): number {
    const { leader, log } = this
    return leader === null || log === null ? -1 : leader.lowWatermark(log.logStartOffset)
  }

  /** `wait` hears when the low watermark has reached its offset, or that it will not be known; maybe at once. */
  whenDeleted(wait: AckWait): void {
    if (this.leader === null) return wait.acked(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    // The followers do the same as soon as they hear of it.
    this.audience.wakeReplicas()
    this.audience.waitDeleted(wait)
    this.#checkLowWatermark()
  }

  /** The controller has refused what `leader` proposed. */
  isrRefused(leader: PartitionLeader): void {
    if (this.leader === leader) this.#perform(leader.step({ type: 'isr-refused', nowMs: this.#events.nowMs() }))
  }

  /**
   * What the leader of `follower` sent or did. The caller sees to `append`, `truncate`, `restart` and `ask-offsets`; the
   * rest has been done.
   */
  followed(follower: PartitionFollower, input: FollowerInput): FollowerEffect | null {
    if (this.follower !== follower) bug(`${this.name} has another follower by now`)
    for (const effect of follower.step(input)) {
      if (effect.type === 'raise-high-watermark') this.#raise(effect.offset)
      else if (effect.type === 'advance-start') this.#advanceStart(effect.offset)
      else return effect
    }
    if (input.type === 'appended') this.#successorAnswered()
    else if (input.type === 'answered' && input.errorCode !== ErrorCode.NONE) this.#takeOver()
    return null
  }

  /** It leads, and has what is here. What of it waits to be committed has until the deadline. */
  #successorAnswered(): void {
    if (this.isHandingOver) {
      this.#endHandover()
      this.audience.succeeded(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    }
    if (this.deadlineSlot !== 0 && this.#takeover === null && this.audience.waiting === 0)
      this.#events.deadlines.remove(this)
  }

  /** What a follower's machine goes by. Only with a log. */
  get followerLog(): FollowerLog {
    const { log } = this
    assert(log !== null, `${this.name} has no log`)
    return { startOffset: log.logStartOffset, endOffset: log.endOffset }
  }

  /**
   * Makes the log shorter, or empties it to go on at `offset`. Resolves to whether it could; without room it is as it was.
   * The replica's part does not change meanwhile: see `settled`.
   */
  rearrange(effect: Extract<FollowerEffect, { type: 'truncate' | 'restart' }>): Promise<boolean> {
    const { log } = this
    assert(log !== null && this.#rearranging === null, `${this.name} is truncated twice at a time`)
    // Said before it is done: the leader has answered, and those who wait for what it does not have may go there.
    this.audience.beyond(effect.offset, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    this.#successorAnswered()
    const action =
      effect.type === 'truncate' ? log.truncateTo(effect.offset) : log.truncateFullyAndStartAt(effect.offset)
    const done = action.then(
      () => true,
      () => false,
    )
    this.#rearranging = done.then(() => {
      this.#rearranging = null
      this.#highWatermark = clamp(this.#highWatermark, log)
      // The batch that holds the offset went as a whole.
      if (this.leader === null) this.audience.beyond(log.endOffset, ErrorCode.NOT_LEADER_OR_FOLLOWER)
      this.audience.wake()
    })
    return done
  }

  /** Null when nothing is under way that a change of the replica's part has to wait for. */
  get settled(): Promise<void> | null {
    return this.#rearranging
  }

  /** Whether nobody else leads it at this moment; false where that cannot be known. */
  isStillLed(): Promise<boolean> {
    return this.#events.isStillLed(this)
  }

  /** `wait` hears when the high watermark has reached its offset, or why it will not; maybe at once. */
  whenCommitted(wait: AckWait): void {
    if (this.leader === null) wait.acked(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    else if (wait.waitOffset <= this.#highWatermark) wait.acked(this.#committedError())
    else this.audience.waitCommitted(wait)
  }

  /**
   * The same for what this replica has kept, on disk or in the page cache as the topic wants it. A sole replica has then
   * committed it too: as with Kafka, whoever asks for the end after acks=1 finds the record below it.
   */
  whenKept(wait: AckWait): void {
    if (this.leader === null) wait.acked(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    else if (wait.waitOffset <= this.leader.keptOffset) wait.acked(ErrorCode.NONE)
    else this.audience.waitKept(wait)
  }

  dump(): string {
    const follows = this.follower === null ? '' : ` ${this.follower.dump()}`
    const role = this.leader === null ? `follows ${this.leaderId}${follows}` : `leads ${this.leader.dump()}`
    const state = this.isOffline ? 'offline' : (this.log as PartitionLog).dump()
    return `${this.name} epoch=${this.leaderEpoch} ${role} | ${state}`
  }

  #progressed(): void {
    const { log, leader } = this
    if (log === null) return
    this.followerDriver?.logProgressed()
    if (leader === null) return
    const { endOffset, writtenOffset, durableOffset } = log
    const nowMs = this.#events.nowMs()
    this.#perform(leader.step({ type: 'progressed', endOffset, writtenOffset, durableOffset, nowMs }))
    this.audience.kept(leader.keptOffset)
  }

  #perform(effects: readonly Effect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case 'raise-high-watermark':
          this.#raise(effect.offset)
          break
        case 'propose-isr':
          this.#events.proposeIsr(this, effect)
          break
        default:
          unreachable(effect)
      }
    }
  }

  #raise(offset: number): void {
    if (!(offset >= this.#highWatermark)) bug(`${this.name}: high watermark ${offset} below ${this.#highWatermark}`)
    this.#highWatermark = offset
    this.audience.committed(offset, this.#committedError())
  }

  #foresee(outlook: Partial<LogOutlook>): void {
    if (this.leader !== null) this.#events.outlook?.(this, outlook)
  }

  /** Enough copies have it; but are they still enough? (KIP-966 or not, Kafka asks again.) */
  #committedError(): number {
    return this.leader?.isUnderMinInsync ? ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND : ErrorCode.NONE
  }

  /** A hint: what cannot be noted down now is told again with the next answer. */
  #advanceStart(offset: number): void {
    const { log } = this
    if (log === null || this.#isAdvancing) return
    this.#isAdvancing = true
    const done = () => {
      this.#isAdvancing = false
      this.followerDriver?.startAdvanced()
    }
    log.advanceStartOffset(offset).then(done, done)
  }

  #failed(error: Error): void {
    this.#endLeadership(ErrorCode.KAFKA_STORAGE_ERROR)
    this.#endFollowing()
    this.audience.wake()
    this.#events.failed(this, error)
  }

  #endLeadership(errorCode: number): void {
    this.leader = null
    this.handedOverEpoch = -1
    if (this.deadlineSlot !== 0) this.#events.deadlines.remove(this)
    this.audience.fail(errorCode)
  }

  #checkLowWatermark(): void {
    if (this.audience.isDeletionAwaited) this.audience.deleted(this.lowWatermark)
  }

  #endFollowing(): void {
    const driver = this.followerDriver
    if (this.#takeover?.begin) this.#events.deadlines.remove(this)
    this.#takeover = null
    this.follower = null
    this.followerDriver = null
    // It finds out that it is no more.
    driver?.logProgressed()
  }
}

/** A checkpoint may be older than the log's start, or newer than what a crash left of its end. */
function clamp(highWatermark: number, log: PartitionLog): number {
  return Math.min(Math.max(highWatermark, log.logStartOffset), log.endOffset)
}

import { assert, bug } from '../base/assert.ts'
import { minInsync } from '../model/min-insync.ts'
import { FollowerProgress } from './follower-progress.ts'
import type { Durability, Effect, EligibleBroker, Input, LeaderOptions, Registration } from './types.ts'

const NOTHING: readonly Effect[] = []
/** How long a member that was refused is not proposed again. */
const EXPAND_AGAIN_MS = 1000

/**
 * One partition's leader in one leader epoch: the ISR, what each follower holds, and the high watermark. It lives from
 * the election to the next leader epoch; a new epoch means a new machine.
 *
 * Invariants: the high watermark never falls, and never exceeds what any member of the ISR, committed or proposed, is known
 * to have by the topic's durability mode (I2); it stands still while the ISR is smaller than min.insync. At most one proposal
 * is in flight, and it takes effect when the image shows it: then everything that was decided before it, such as a larger
 * min.insync, is known too.
 */
export class PartitionLeader {
  readonly nodeId: number
  readonly leaderEpoch: number
  /** Where this leader's own records begin: nobody may join the ISR, and no end may be told, before it is committed. */
  readonly epochStartOffset: number
  readonly #lagTimeMaxMs: number
  #registration: Registration
  /** Short lists, searched from end to end: a node may hold very many leaders. */
  #isr: readonly number[]
  #proposal: readonly number[] | null = null
  #proposedMs = 0
  /** The controller has just refused a member that we took for eligible: until the image tells more, it need not be asked again. */
  #expandAgainMs = Number.NEGATIVE_INFINITY
  #eligible: readonly EligibleBroker[]
  #followers: readonly FollowerProgress[] = []
  #durability: Durability
  #minInsyncReplicas: number | null
  #endOffset: number
  #writtenOffset: number
  #durableOffset: number
  #highWatermark: number
  #nowMs: number

  constructor(options: LeaderOptions) {
    const { registration } = options
    assert(registration.replicas.includes(options.nodeId), `leader ${options.nodeId} of (${registration.replicas})`)
    assert(options.highWatermark <= options.endOffset, `high watermark ${options.highWatermark} > ${options.endOffset}`)
    this.nodeId = options.nodeId
    this.leaderEpoch = options.leaderEpoch
    this.epochStartOffset = options.endOffset
    this.#lagTimeMaxMs = options.lagTimeMaxMs
    this.#registration = registration
    this.#isr = registration.isr
    this.#eligible = options.eligible
    this.#durability = options.durability
    this.#minInsyncReplicas = options.minInsyncReplicas
    this.#endOffset = options.endOffset
    this.#writtenOffset = options.writtenOffset
    this.#durableOffset = options.durableOffset
    this.#highWatermark = options.highWatermark
    this.#nowMs = options.nowMs
    this.#trackReplicas()
  }

  get highWatermark(): number {
    return this.#highWatermark
  }

  /** The committed one, which is what counts for acks. */
  get isr(): readonly number[] {
    return this.#isr
  }

  get partitionEpoch(): number {
    return this.#registration.partitionEpoch
  }

  /** The controller comes to the same number: whom it may elect rests on it. */
  get effectiveMinInsync(): number {
    const { replicas, addingReplicas } = this.#registration
    return minInsync(this.#minInsyncReplicas, replicas.length - addingReplicas.length)
  }

  get isUnderMinInsync(): boolean {
    return this.#isr.length < this.effectiveMinInsync
  }

  get isUnderReplicated(): boolean {
    return this.#isr.length < this.#registration.replicas.length
  }

  /**
   * Everybody whom the controller can have elected in the place of this one, whatever it has decided since, unless it gave up
   * records: its ISR grows by nothing but what is proposed here.
   */
  get possibleSuccessors(): readonly number[] {
    const { isr, elr } = this.#registration
    const ids = new Set([...isr, ...elr, ...(this.#proposal ?? [])])
    ids.delete(this.nodeId)
    return [...ids]
  }

  /** What is known of the others. */
  get followers(): readonly FollowerProgress[] {
    return this.#followers
  }

  get endOffset(): number {
    return this.#endOffset
  }

  /** The least start offset of all replicas that are alive, this one's being `ownStartOffset`: nothing before it is kept. */
  lowWatermark(ownStartOffset: number): number {
    let low = ownStartOffset
    for (const { id, startOffset } of this.#followers) {
      if (this.#epochOf(id) !== undefined) low = Math.min(low, startOffset)
    }
    return low
  }

  /** The end of what this replica itself has kept, as the topic's durability mode asks: what acks=1 waits for. */
  get keptOffset(): number {
    return this.#durability === 'fsync' ? this.#durableOffset : this.#writtenOffset
  }

  /** Whether the high watermark has passed the election: only then is it at least every one told before (invariant H12). */
  get endIsKnown(): boolean {
    return this.#highWatermark >= this.epochStartOffset
  }

  step(input: Input): readonly Effect[] {
    switch (input.type) {
      case 'progressed':
        return this.#onProgressed(input)
      case 'fetched':
        return this.#onFetched(input)
      case 'tick':
        return this.#onTick(input.nowMs)
      case 'isr-refused':
        return this.#onIsrRefused(input.nowMs)
      case 'registered':
        return this.#onRegistered(input)
      case 'configured':
        this.#durability = input.durability
        this.#minInsyncReplicas = input.minInsyncReplicas
        return this.#raiseHighWatermark()
    }
  }

  /** `end=5 hw=2 isr=(1,2,3)`, then what is not at rest. */
  dump(): string {
    const parts = [`end=${this.#endOffset} hw=${this.#highWatermark} isr=(${this.#isr.join(',')})`]
    if (this.#proposal !== null) parts.push(`proposed=(${this.#proposal.join(',')})`)
    if (this.isUnderMinInsync) parts.push('under-min-insync')
    for (const { id, endOffset, durableOffset } of this.#followers) {
      if (endOffset >= 0) parts.push(`${id}:${endOffset}${durableOffset === null ? '' : `/${durableOffset}`}`)
    }
    return parts.join(' ')
  }

  #onProgressed(input: Extract<Input, { type: 'progressed' }>): readonly Effect[] {
    this.#nowMs = input.nowMs
    if (input.endOffset > this.#endOffset) {
      // Who has had everything until now is behind from now on, however long ago it asked last.
      for (const follower of this.#followers) {
        if (this.#counted(follower) >= this.#endOffset) follower.wasLevel(input.nowMs)
      }
    }
    this.#endOffset = input.endOffset
    this.#writtenOffset = input.writtenOffset
    this.#durableOffset = input.durableOffset
    return this.#raiseHighWatermark()
  }

  #onFetched(input: Extract<Input, { type: 'fetched' }>): readonly Effect[] {
    this.#nowMs = input.nowMs
    const follower = this.#follower(input.replica)
    // A fetch of an incarnation that the controller does not know (any more) proves nothing about the one it does (KIP-903).
    if (follower === undefined || input.brokerEpoch < follower.brokerEpoch) return NOTHING
    if (input.brokerEpoch > follower.brokerEpoch) follower.restarted(input.brokerEpoch)
    follower.startOffset = input.startOffset
    follower.endOffset = input.endOffset
    follower.writtenOffset = input.writtenOffset
    follower.durableOffset = input.durableOffset
    follower.fetched({ counted: this.#counted(follower), leaderEndOffset: this.#endOffset, nowMs: input.nowMs })
    const proposed = this.#maybeExpand(follower)
    const raised = this.#raiseHighWatermark()
    return proposed.length === 0 ? raised : [...proposed, ...raised]
  }

  #onTick(nowMs: number): readonly Effect[] {
    this.#nowMs = nowMs
    if (this.#proposal !== null) {
      // Neither an answer nor an image: one of them was lost, or the controller is. To ask twice is safe (KIP-497).
      const isOverdue = nowMs - this.#proposedMs >= this.#lagTimeMaxMs
      return isOverdue ? this.#propose(this.#proposal) : NOTHING
    }
    const stay = this.#isr.filter((id) => id === this.nodeId || this.#isCaughtUp(id))
    const change = stay.length < this.#isr.length ? this.#propose(stay) : this.#maybeExpand()
    // Time alone may have freed the high watermark of a replica that was about to join.
    const raised = this.#raiseHighWatermark()
    return raised.length === 0 ? change : [...change, ...raised]
  }

  #onIsrRefused(nowMs: number): readonly Effect[] {
    if (this.#proposal === null) return NOTHING
    this.#proposal = null
    this.#expandAgainMs = nowMs + EXPAND_AGAIN_MS
    return this.#raiseHighWatermark()
  }

  #onRegistered({ registration, eligible }: Extract<Input, { type: 'registered' }>): readonly Effect[] {
    this.#eligible = eligible
    this.#expandAgainMs = Number.NEGATIVE_INFINITY
    if (registration.partitionEpoch > this.#registration.partitionEpoch) this.#adopt(registration)
    const proposed = this.#maybeExpand()
    const raised = this.#raiseHighWatermark()
    return proposed.length === 0 ? raised : [...proposed, ...raised]
  }

  #adopt(registration: Registration): void {
    this.#registration = registration
    this.#isr = registration.isr
    this.#proposal = null
    this.#trackReplicas()
  }

  #trackReplicas(): void {
    const others = this.#registration.replicas.filter((id) => id !== this.nodeId)
    this.#followers = others.map((id) => {
      const isIn = this.#isr.includes(id)
      const follower = this.#follower(id) ?? new FollowerProgress(id, isIn ? this.#nowMs : Number.NEGATIVE_INFINITY)
      if (isIn) follower.outSinceMs = null
      else if (follower.outSinceMs === null) follower.left(this.#nowMs)
      return follower
    })
  }

  #follower(id: number): FollowerProgress | undefined {
    return this.#followers.find((follower) => follower.id === id)
  }

  #epochOf(id: number): number | undefined {
    return this.#eligible.find((broker) => broker.id === id)?.brokerEpoch
  }

  /**
   * Who has all that is committed joins: the one that has just asked, and those that have been level all the time and were
   * kept out by something else.
   */
  #maybeExpand(asking: FollowerProgress | null = null): readonly Effect[] {
    if (this.#proposal !== null || this.#nowMs < this.#expandAgainMs) return NOTHING
    const joining = this.#followers.filter(
      (follower) =>
        !this.#isr.includes(follower.id) &&
        this.#mayJoin(follower) &&
        (follower === asking || this.#isCaughtUp(follower.id)),
    )
    return joining.length === 0 ? NOTHING : this.#propose([...this.#isr, ...joining.map(({ id }) => id)])
  }

  #mayJoin(follower: FollowerProgress): boolean {
    // Behind either of these it could become leader without a record that was acknowledged.
    const least = Math.max(this.#highWatermark, this.epochStartOffset)
    return this.#isEligible(follower) && this.#counted(follower) >= least
  }

  #propose(isr: readonly number[]): readonly Effect[] {
    this.#proposal = isr
    this.#proposedMs = this.#nowMs
    const members = isr.map((id) => ({ id, brokerEpoch: this.#epochOf(id) ?? -1 }))
    return [{ type: 'propose-isr', isr: members, partitionEpoch: this.#registration.partitionEpoch }]
  }

  #isEligible({ id, brokerEpoch }: FollowerProgress): boolean {
    const known = this.#epochOf(id)
    return known !== undefined && (brokerEpoch === -1 || known === brokerEpoch)
  }

  #isCaughtUp(id: number): boolean {
    const follower = this.#follower(id)
    if (follower === undefined) return false
    return this.#counted(follower) >= this.#endOffset || follower.levelAgoMs(this.#nowMs) <= this.#lagTimeMaxMs
  }

  #counted({ endOffset, writtenOffset, durableOffset }: FollowerProgress): number {
    const counted = this.#durability === 'fsync' ? durableOffset : writtenOffset
    return counted === null ? endOffset : Math.min(counted, endOffset)
  }

  #raiseHighWatermark(): readonly Effect[] {
    if (this.isUnderMinInsync) return NOTHING
    let offset = this.keptOffset
    for (const follower of this.#followers) {
      if (this.#mustHold(follower)) offset = Math.min(offset, this.#counted(follower))
    }
    if (offset <= this.#highWatermark) return NOTHING
    if (!(offset <= this.#endOffset)) bug(`high watermark ${offset} beyond the end ${this.#endOffset}`)
    this.#highWatermark = offset
    return [{ type: 'raise-high-watermark', offset }]
  }

  /**
   * A proposed member counts already: the controller may have made it electable before we hear of it. So does one that is
   * about to join, or the high watermark would run away from it under load. A member proposed to leave counts until it has left.
   */
  #mustHold(follower: FollowerProgress): boolean {
    const { id } = follower
    if (this.#isr.includes(id) || this.#proposal?.includes(id)) return true
    return this.#isEligible(follower) && this.#isCaughtUp(id)
  }
}

/** `fsync`: a copy counts when it is on the platter. `relaxed`: when it has left the process (Kafka's only mode). */
export type Durability = 'fsync' | 'relaxed'

/** What the controller has decided, as far as the leader goes by it. */
export interface Registration {
  readonly replicas: readonly number[]
  /** Those of `replicas` that a reassignment adds: they count for no minimum until it is done. */
  readonly addingReplicas: readonly number[]
  readonly isr: readonly number[]
  /** Out of the ISR, and may lead when nobody in it can (KIP-966). */
  readonly elr: readonly number[]
  /** The compare-and-set token of AlterPartition. */
  readonly partitionEpoch: number
}

/** A broker that may be in an ISR now: alive, unfenced, not shutting down, in this incarnation. */
export interface EligibleBroker {
  readonly id: number
  readonly brokerEpoch: number
}

export interface LeaderOptions {
  readonly nodeId: number
  readonly leaderEpoch: number
  readonly registration: Registration
  readonly eligible: readonly EligibleBroker[]
  readonly durability: Durability
  /** `min.insync.replicas`, null where nobody set it; see `minInsync` for what it comes to. */
  readonly minInsyncReplicas: number | null
  /** `replica.lag.time.max.ms` */
  readonly lagTimeMaxMs: number
  readonly endOffset: number
  readonly writtenOffset: number
  readonly durableOffset: number
  /** As far as this node knew when it was elected. */
  readonly highWatermark: number
  readonly nowMs: number
}

/** Facts. Times are monotonic milliseconds. */
export type Input =
  /** The positions of the local log moved. */
  | {
      readonly type: 'progressed'
      readonly endOffset: number
      readonly writtenOffset: number
      readonly durableOffset: number
      readonly nowMs: number
    }
  /**
   * A follower asked for `endOffset`, so it holds all before it. `durableOffset` and `writtenOffset` are null when it does
   * not say how far it has fsynced, or written: all that it holds (as of an Apache Kafka peer).
   */
  | {
      readonly type: 'fetched'
      readonly replica: number
      readonly brokerEpoch: number
      readonly startOffset: number
      readonly endOffset: number
      readonly writtenOffset: number | null
      readonly durableOffset: number | null
      readonly nowMs: number
    }
  | { readonly type: 'tick'; readonly nowMs: number }
  /** The controller said no: what was committed last stands. (A yes shows in the image, and whatever leaves it open changes nothing.) */
  | { readonly type: 'isr-refused'; readonly nowMs: number }
  /** A newer image, in the same leader epoch. */
  | { readonly type: 'registered'; readonly registration: Registration; readonly eligible: readonly EligibleBroker[] }
  | { readonly type: 'configured'; readonly durability: Durability; readonly minInsyncReplicas: number | null }

/** Orders, to be carried out as they stand. */
export type Effect =
  | { readonly type: 'raise-high-watermark'; readonly offset: number }
  | { readonly type: 'propose-isr'; readonly isr: readonly EligibleBroker[]; readonly partitionEpoch: number }

/** A record as the consume command shows it, with where it was found. */
export interface PrintedRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly leaderEpoch: number
  readonly timestampMs: number
  /** Attributes of its batch. */
  readonly attributes: number
  readonly producerId: number
  readonly producerEpoch: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly { readonly key: string; readonly value: Uint8Array | null }[]
}

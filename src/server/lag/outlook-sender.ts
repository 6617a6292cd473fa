import { OFFSETS_TOPIC } from '../../controller/topic-names.ts'
import type { Timer } from '../../env/clock.ts'
import type { Env } from '../../env/env.ts'
import type { Address } from '../../env/net.ts'
import type { PartitionOutlook } from '../../group/outlook-book.ts'
import type { MetadataImage } from '../../metadata/image.ts'
import type { TopicId, TopicPartition } from '../../model/ids.ts'
import { OffsetFetch, type OffsetFetchRequest } from '../../protocol/apis/offset-fetch.ts'
import { ClientError } from '../../rpc/errors.ts'
import type { Peers } from '../../rpc/peers.ts'
import type { LogOutlook } from '../../storage/log-outlook.ts'
import { OutlookBox } from './outlook-box.ts'

export interface OutlookSenderParts {
  readonly nodeId: number
  readonly peers: Peers
  addressOf(nodeId: number): Address | null
  /** The coordinator of this node. */
  take(outlooks: readonly PartitionOutlook[]): Promise<void>
}

/** In one request. */
const OUTLOOKS_MAX = 1000
const RETRY_MS = 1000
const RETRY_MS_MAX = 30_000
const LANE = 'outlooks'
/** From it on the request has room for several groups, and for none. */
const VERSIONS = [8, 10] as const

/**
 * Tells the coordinators of groups what retention is about to delete, and has deleted, of the partitions led here:
 * docs/lag.md. It sleeps while there is nothing to tell. Life cycle: `close` once.
 */
export class OutlookSender {
  readonly #env: Env
  readonly #parts: OutlookSenderParts
  readonly #box = new OutlookBox()
  readonly #sending = new Set<number>()
  #timer: Timer | null = null
  #retryMs = RETRY_MS
  #isClosed = false

  constructor(env: Env, parts: OutlookSenderParts) {
    this.#env = env
    this.#parts = parts
  }

  /** A round of retention is over, or (without steps: as they were) records were deleted on demand. */
  put(identity: TopicPartition & { topicId: TopicId; leaderEpoch: number }, outlook: Partial<LogOutlook>): void {
    const { topic, topicId, partition, leaderEpoch } = identity
    const nowMs = this.#env.clock.monotonicMs()
    const known = this.#box.get(topic, partition)
    const startOffset = outlook.startOffset ?? known?.startOffset ?? 0
    const steps =
      outlook.steps?.map(({ endOffset, leftMs }) => ({ endOffset, dueMs: nowMs + leftMs })) ??
      known?.steps.filter(({ endOffset }) => endOffset > startOffset) ??
      []
    if (this.#box.put({ topic, topicId, partition, leaderEpoch, startOffset, steps }, nowMs)) this.#sendAfter(0)
  }

  remove({ topic, partition }: TopicPartition): void {
    this.#box.remove(topic, partition)
  }

  imageChanged(image: MetadataImage): void {
    const epochs = new Map<number, number>()
    for (const { leader } of image.topic(OFFSETS_TOPIC)?.partitions ?? []) {
      const broker = image.broker(leader)
      if (broker !== undefined) epochs.set(leader, broker.brokerEpoch)
    }
    this.#box.setCoordinators(epochs)
    if (this.#box.behind().length > 0) this.#sendAfter(0)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#timer = null
  }

  #sendAfter(delayMs: number): void {
    if (this.#isClosed || this.#timer !== null) return
    this.#timer = this.#env.timers.after(delayMs, () => {
      this.#timer = null
      for (const nodeId of this.#box.behind()) if (!this.#sending.has(nodeId)) void this.#send(nodeId)
    })
  }

  async #send(nodeId: number): Promise<void> {
    const next = this.#box.unheard(nodeId, OUTLOOKS_MAX)
    if (next === null) return
    this.#sending.add(nodeId)
    const isHeard = next.outlooks.length === 0 || (await this.#tell(nodeId, next.outlooks))
    this.#sending.delete(nodeId)
    if (this.#isClosed) return
    if (isHeard) {
      this.#box.heard(nodeId, next.brokerEpoch, next.upTo)
      this.#retryMs = RETRY_MS
      if (this.#box.behind().length > 0) this.#sendAfter(0)
      return
    }
    this.#sendAfter(this.#retryMs)
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX)
  }

  /** Whether it was heard. */
  async #tell(nodeId: number, outlooks: readonly PartitionOutlook[]): Promise<boolean> {
    if (nodeId === this.#parts.nodeId) {
      await this.#parts.take(outlooks)
      return true
    }
    const address = this.#parts.addressOf(nodeId)
    if (address === null) return false
    try {
      const nowMs = this.#env.clock.monotonicMs()
      const body = { groups: [], requireStable: false, outlooks: outlooks.map((outlook) => toWire(outlook, nowMs)) }
      await this.#parts.peers.request(address, LANE, OffsetFetch, body, { versions: VERSIONS })
      return true
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      return false
    }
  }
}

type WireOutlook = OffsetFetchRequest['outlooks'][number]

/** Clocks differ between nodes; how long it takes does not. */
function toWire({ steps, ...outlook }: PartitionOutlook, nowMs: number): WireOutlook {
  const left = steps.map(({ endOffset, dueMs }) => ({ endOffset, leftMs: Math.max(0, Math.round(dueMs - nowMs)) }))
  return { ...outlook, steps: left }
}

export function fromWire({ steps, topicId, ...outlook }: WireOutlook, nowMs: number): PartitionOutlook {
  const due = steps.map(({ endOffset, leftMs }) => ({ endOffset, dueMs: nowMs + leftMs }))
  return { ...outlook, topicId: topicId as TopicId, steps: due }
}

import { Produce } from '../../protocol/apis/produce.ts'
import { buildBatch } from '../../protocol/batch/build.ts'
import { ErrorCode, isRetriable } from '../../protocol/errors.ts'
import type { History, Send } from '../history/history.ts'
import type { ClusterClient } from './cluster-client.ts'
import { unexpected } from './fetching.ts'
import { digestOf, payloadOf } from './payload.ts'

/** How long the broker may wait for the copies; now and then less than it needs. */
const TIMEOUTS_MS = [50, 1000, 5000]
const REQUEST_TIMEOUT_MS = 8000

export interface PlainProducerOptions {
  readonly name: string
  readonly topic: string
  readonly client: ClusterClient
  readonly history: History
  /** `leader`: acknowledged when the leader alone has it, which promises nothing when that leader dies. */
  readonly acks: 'all' | 'leader'
}

/**
 * Sends each batch once, without sequence numbers, and believes what it is told: acknowledged, refused for certain, or
 * nobody knows. It is there for the second and third: what was refused must never be read (H22).
 */
export class PlainProducer {
  readonly name: string
  readonly #options: PlainProducerOptions
  #records = 0
  #batches = 0
  /** Batches without an answer. */
  pending = 0

  constructor(options: PlainProducerOptions) {
    this.name = options.name
    this.#options = options
  }

  /** Sends `count` records to one partition in one batch. */
  async send(partition: number, count: number): Promise<void> {
    const { client, history, topic, acks } = this.#options
    const batch = ++this.#batches
    const payloads = Array.from({ length: count }, () => {
      const id = `${this.name}-${++this.#records}`
      return { id, ...payloadOf(id, `key-${client.random.below(20)}`, client.random, client.env.clock.wallMs()) }
    })
    const sends = payloads.map((payload) =>
      history.send({
        id: payload.id,
        // Only within a batch is there an order: two that are under way at once may overtake each other.
        producer: `${this.name}.${batch}`,
        partition: `${topic}-${partition}`,
        digest: digestOf(payload),
        timestampMs: payload.timestampMs,
        acks,
      }),
    )
    this.pending++
    await this.#produce(partition, buildBatch({ records: payloads }), sends)
    this.pending--
  }

  async #produce(index: number, batch: Buffer, sends: readonly Send[]): Promise<void> {
    const { client, topic, acks, history } = this.#options
    const timeoutMs = client.random.pick(TIMEOUTS_MS)
    let isSent = false
    const answer = await client.tolerate(async () => {
      const { topicId } = await client.topic(topic)
      const wire = await client.leaderOf(topic, index)
      isSent = true
      const topicData = [{ name: topic, topicId, partitionData: [{ index, records: [batch] }] }]
      const body = { acks: acks === 'all' ? -1 : 1, timeoutMs, topicData }
      return wire.request(Produce, body, { timeoutMs: REQUEST_TIMEOUT_MS })
    })
    const result = answer?.responses[0]?.partitionResponses[0]
    if (result === undefined) {
      client.forget(topic)
      for (const send of sends) history.notAcked(send, isSent ? 'unknown' : 'refused')
      return
    }
    const { errorCode, baseOffset, errorMessage } = result
    if (errorCode !== 0 && !isRetriable(errorCode)) {
      throw unexpected(`${this.name}: a good batch (${errorMessage})`, errorCode)
    }
    if (errorCode !== 0) client.forget(topic)
    sends.forEach((send, i) => {
      if (errorCode === 0) history.acked(send, baseOffset + i)
      else history.notAcked(send, REFUSALS.has(errorCode) ? 'refused' : 'unknown')
    })
  }
}

/** Errors that say: nothing was appended. Every other leaves it open (NOT_LEADER_OR_FOLLOWER may come after the append). */
const REFUSALS: ReadonlySet<number> = new Set([
  ErrorCode.NOT_ENOUGH_REPLICAS,
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ErrorCode.CORRUPT_MESSAGE,
])

import { assert } from '../../base/assert.ts'
import { InitProducerId } from '../../protocol/apis/init-producer-id.ts'
import { Produce, type ProduceResponse } from '../../protocol/apis/produce.ts'
import { buildBatch } from '../../protocol/batch/build.ts'
import { baseSequence, type Codec, CODECS } from '../../protocol/batch/header.ts'
import { ErrorCode, errorName, isRetriable } from '../../protocol/errors.ts'
import type { History, Send } from '../history/history.ts'
import type { ClusterClient } from './cluster-client.ts'
import { digestOf, type Payload, payloadOf } from './payload.ts'
import type { Wire } from './wire.ts'

/** What a broker with idempotence promises to keep in order. */
const IN_FLIGHT_MAX = 5
/** Brokers do not look into what is compressed: a few producers that do it are enough, for it costs more than all else. */
const COMPRESSED_SHARE = 0.1

interface Identity {
  readonly producerId: number
  readonly producerEpoch: number
}

interface Batch {
  readonly sends: readonly Send[]
  readonly payloads: readonly Payload[]
  bytes: Buffer
  state: 'queued' | 'in flight'
  /** Was sent before, and may have been appended. */
  isRetry: boolean
}

class PartitionQueue {
  readonly partition: number
  readonly batches: Batch[] = []
  identity: Identity
  sequence = 0
  inFlight = 0
  /** Something failed: nothing new is sent before all answers are there, for the order must be kept. */
  isResetting = false
  /** The batches find their connection one after the other, so that they leave in order. */
  turn: Promise<Wire | null> = Promise.resolve(null)
  /** On which what is in flight was sent. */
  wire: Wire | null = null

  constructor(partition: number, identity: Identity) {
    this.partition = partition
    this.identity = identity
  }
}

export interface IdempotentProducerOptions {
  readonly name: string
  readonly topic: string
  readonly partitions: number
  readonly client: ClusterClient
  readonly history: History
  /** Goes on under another producer id where the broker has lost what it had acknowledged. */
  readonly toleratesLoss?: boolean
}

/**
 * Sends with acks=all and sequence numbers, up to five batches in flight a partition, and repeats every batch until it is
 * acknowledged, byte for byte the same. So after healing all is acknowledged, each record once.
 */
export class IdempotentProducer {
  readonly name: string
  readonly topic: string
  readonly #client: ClusterClient
  readonly #history: History
  readonly #partitions: number
  readonly #toleratesLoss: boolean
  readonly #codec: Codec
  #queues: PartitionQueue[] = []
  #topicId = ''
  #records = 0
  #waking = false

  constructor(options: IdempotentProducerOptions) {
    this.name = options.name
    this.topic = options.topic
    this.#client = options.client
    this.#history = options.history
    this.#partitions = options.partitions
    this.#toleratesLoss = options.toleratesLoss ?? false
    const { random } = options.client
    this.#codec = random.chance(COMPRESSED_SHARE) ? random.pick(CODECS) : 'none'
  }

  /** Sent and not acknowledged. */
  get pending(): number {
    return this.#queues.reduce((sum, { batches }) => sum + batches.reduce((own, { sends }) => own + sends.length, 0), 0)
  }

  /** Gets a producer id. */
  async start(): Promise<void> {
    this.#topicId = (await this.#client.topic(this.topic)).topicId
    const identity = await this.#newIdentity()
    this.#queues = Array.from({ length: this.#partitions }, (_, partition) => new PartitionQueue(partition, identity))
  }

  #newIdentity(): Promise<Identity> {
    return this.#client.persist(async () => {
      const wire = await this.#client.any()
      const body = { transactionalId: null, transactionTimeoutMs: 60_000 }
      const { errorCode, producerId, producerEpoch } = await wire.request(InitProducerId, body, { fromVersion: 3 })
      if (errorCode === 0) return { producerId, producerEpoch }
      assert(isRetriable(errorCode), `InitProducerId: ${errorName(errorCode)}`)
      return null
    })
  }

  /** Queues one batch of `count` records for one partition. */
  send(partition: number, count: number): void {
    const { random, env } = this.#client
    const queue = this.#queues[partition]
    assert(queue !== undefined, 'send before start')
    const payloads: Payload[] = []
    const sends: Send[] = []
    for (let i = 0; i < count; i++) {
      const id = `${this.name}-${++this.#records}`
      const payload = payloadOf(id, `key-${random.below(20)}`, random, env.clock.wallMs())
      payloads.push(payload)
      sends.push(
        this.#history.send({
          id,
          producer: this.name,
          partition: `${this.topic}-${partition}`,
          digest: digestOf(payload),
          timestampMs: payload.timestampMs,
        }),
      )
    }
    queue.batches.push({ sends, payloads, bytes: this.#build(queue, payloads), state: 'queued', isRetry: false })
    this.#pump(queue)
  }

  /** The next batch in the queue's sequence. */
  #build(queue: PartitionQueue, records: readonly Payload[]): Buffer {
    const bytes = buildBatch({ records, codec: this.#codec, baseSequence: queue.sequence, ...queue.identity })
    queue.sequence += records.length
    return bytes
  }

  #pump(queue: PartitionQueue): void {
    if (queue.isResetting) {
      if (queue.inFlight > 0) return
      this.#wakeLater()
      return
    }
    for (const batch of queue.batches) {
      // A broker knows a producer's last five batches. So what is sent again goes alone: with others behind it a second
      // loss of its answer could push it out of those five, and it would never be known for a repetition.
      const alone = batch.isRetry
      if (alone && batch.state === 'in flight') return
      if (queue.inFlight >= (alone ? 1 : IN_FLIGHT_MAX)) return
      if (batch.state === 'queued') this.#dispatch(queue, batch)
      if (alone) return
    }
  }

  #dispatch(queue: PartitionQueue, batch: Batch): void {
    batch.state = 'in flight'
    queue.inFlight++
    void this.#request(queue, batch).then((isAcked) => {
      queue.inFlight--
      if (isAcked) queue.batches.splice(queue.batches.indexOf(batch), 1)
      else queue.isResetting = true
      this.#pump(queue)
    })
  }

  /** True when the batch was acknowledged; false when it must be sent again. */
  async #request(queue: PartitionQueue, batch: Batch): Promise<boolean> {
    const topicId = this.#topicId
    const partitionData = [{ index: queue.partition, records: [batch.bytes] }]
    const body = { acks: -1, timeoutMs: 5000, topicData: [{ name: this.topic, topicId, partitionData }] }
    // The first version that may carry zstd.
    const fromVersion = this.#codec === 'zstd' ? 7 : 0
    queue.turn = queue.turn.then(async () => {
      // Once one did not get through, none behind it may: to a broker that knows nothing of the producer yet, any
      // sequence is as good as the first.
      if (queue.isResetting) return null
      const found = await this.#client.tolerate(() => this.#client.leaderOf(this.topic, queue.partition))
      // Nor may one overtake, at a new leader that knows nothing yet, what the old one was sent and has not answered.
      const isElsewhere = queue.inFlight > 1 && queue.wire !== found
      if (found === null || isElsewhere) queue.isResetting = true
      queue.wire = found
      return queue.isResetting ? null : found
    })
    const wire = await queue.turn
    // Finding it may have taken long enough for the batch before this one to be given up.
    if (wire === null || queue.isResetting) return false
    this.#log(queue, batch, `sent to ${wire.remote}`)
    const answer = await this.#client.tolerate(() => wire.request(Produce, body, { fromVersion }))
    if (answer === null) this.#log(queue, batch, 'not answered')
    return answer !== null && this.#judge(answer, queue, batch)
  }

  async #judge(answer: ProduceResponse, queue: PartitionQueue, batch: Batch): Promise<boolean> {
    const result = answer.responses[0]?.partitionResponses[0]
    assert(result !== undefined, 'a Produce answer without the partition')
    const { errorCode, baseOffset } = result
    this.#log(queue, batch, errorCode === 0 ? `acknowledged at ${baseOffset}` : errorName(errorCode))
    if (errorCode === 0) {
      batch.sends.forEach((send, i) => {
        this.#history.acked(send, baseOffset + i, { isRetried: batch.isRetry })
      })
      return true
    }
    if (errorCode === ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER) {
      // Alone, and everything before it was acknowledged: the broker has forgotten that.
      if (batch.isRetry) await this.#forgotten(queue, result.errorMessage)
      return false
    }
    if (isRetriable(errorCode)) return false
    throw new Error(`${this.name}: a good batch was answered with ${errorName(errorCode)}: ${result.errorMessage}`)
  }

  #log({ partition }: PartitionQueue, { bytes, sends, isRetry }: Batch, what: string): void {
    const fields = { partition, sequence: baseSequence(bytes, 0), records: sends.length, isRetry }
    this.#client.env.log.debug(`a batch is ${what}`, fields)
  }

  /** Goes on under another id. What is queued was not appended: it would have been lost with what came before it. */
  async #forgotten(queue: PartitionQueue, message: string | null): Promise<void> {
    if (!this.#toleratesLoss) throw new Error(`${this.name}: the broker lost its place: ${message}`)
    queue.identity = await this.#newIdentity()
    queue.sequence = 0
    for (const batch of queue.batches) batch.bytes = this.#build(queue, batch.payloads)
  }

  #wakeLater(): void {
    if (this.#waking) return
    this.#waking = true
    void this.#client.backOff().then(() => {
      this.#waking = false
      this.#client.forget(this.topic)
      for (const queue of this.#queues) {
        if (!queue.isResetting || queue.inFlight > 0) continue
        queue.isResetting = false
        for (const batch of queue.batches) {
          if (batch.state === 'in flight') batch.isRetry = true
          batch.state = 'queued'
        }
        this.#pump(queue)
      }
    })
  }
}

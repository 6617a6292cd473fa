import type { Timer } from '../env/clock.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import { InitProducerId } from '../protocol/apis/init-producer-id.ts'
import { Produce, type ProduceResponse } from '../protocol/apis/produce.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Backoff } from './backoff.ts'
import { type Client, check } from './client.ts'
import { ClosedError } from './errors.ts'
import { BrokerError, ClientError, ConnectionError } from '../rpc/errors.ts'
import type { PartitionQueue } from './partition-queue.ts'
import type { ResolvedProducerOptions } from './producer.ts'
import type { Identity, ProducerBatch } from './producer-batch.ts'

interface Sending {
  readonly queue: PartitionQueue
  readonly batch: ProducerBatch
}

/** Topics are named by id from this version of Produce on. */
const TOPIC_IDS_VERSION = 13
/** Of a broker's answer, beside the time it may take to replicate. */
const ANSWER_MARGIN_MS = 5000

/**
 * Brings the batches of a producer to the leaders of their partitions: one request per server carries a batch of every
 * partition that is ready there.
 */
export class Sender {
  readonly #client: Client
  readonly #options: ResolvedProducerOptions
  /** Queues with something in them. */
  readonly #busy = new Set<PartitionQueue>()
  /** Requests under way, by node. */
  readonly #inFlight = new Map<number, number>()
  readonly #backoff: Backoff
  #turn: Timer | null = null
  #alarm: { readonly atMs: number; readonly timer: Timer } | null = null
  #flushes = 0
  #identity: Promise<Identity> | null = null
  #isRefreshing = false
  #lastError: ClientError | null = null
  #isClosed = false

  constructor(client: Client, options: ResolvedProducerOptions) {
    this.#client = client
    this.#options = options
    this.#backoff = client.backoff()
  }

  /** The queue has something new. */
  wake(queue: PartitionQueue): void {
    this.#busy.add(queue)
    // In a later event, so that records sent in one go travel in one batch.
    this.#turn ??= this.#client.env.timers.after(0, () => this.#takeTurn())
  }

  /** Until `endFlush`, nothing waits for more records to come. */
  beginFlush(): void {
    this.#flushes++
    this.#takeTurn()
  }

  endFlush(): void {
    this.#flushes--
  }

  abandon(error: ClientError): void {
    for (const queue of this.#busy) queue.abandon(error)
  }

  close(): void {
    this.#isClosed = true
    this.#turn?.cancel()
    this.#alarm?.timer.cancel()
  }

  #takeTurn(): void {
    this.#turn?.cancel()
    this.#turn = null
    if (this.#isClosed) return
    if (this.#client.isClosed) this.abandon(new ClosedError('the client was closed'))
    const nowMs = this.#client.env.clock.monotonicMs()
    const isFlushing = this.#flushes > 0
    const byNode = new Map<number, PartitionQueue[]>()
    for (const queue of this.#busy) {
      queue.expire(nowMs, this.#lastError)
      if (queue.isIdle) this.#busy.delete(queue)
      else if (queue.isReady(nowMs, isFlushing)) this.#address(queue, byNode)
    }
    for (const [nodeId, queues] of byNode) this.#sendReady(nodeId, queues, nowMs, isFlushing)
    this.#setAlarm(nowMs)
  }

  #address(queue: PartitionQueue, byNode: Map<number, PartitionQueue[]>): void {
    if (queue.needsIdentity) {
      this.#obtainIdentity(queue)
      return
    }
    const leader = this.#client.view.partition(queue.topic, queue.partition)?.leader ?? -1
    if (leader < 0) {
      this.#refresh()
      return
    }
    const queues = byNode.get(leader)
    if (queues === undefined) byNode.set(leader, [queue])
    else queues.push(queue)
  }

  /** Fills requests until the server has enough of them under way or nothing is ready any more. */
  #sendReady(nodeId: number, queues: readonly PartitionQueue[], nowMs: number, isFlushing: boolean): void {
    const order = [...queues]
    while ((this.#inFlight.get(nodeId) ?? 0) < this.#options.maxInFlight) {
      const sendings: Sending[] = []
      let bytes = 0
      // Whoever was served goes to the end: no partition waits for ever behind busier ones.
      for (const queue of order.slice()) {
        if (bytes > 0 && bytes + this.#options.batchBytes > this.#options.maxRequestBytes) break
        order.push(...order.splice(0, 1))
        if (!queue.isReady(nowMs, isFlushing) || queue.needsIdentity) continue
        const batch = queue.take()
        bytes += batch.bytes
        sendings.push({ queue, batch })
      }
      if (sendings.length === 0) return
      void this.#send(nodeId, sendings)
    }
  }

  async #send(nodeId: number, sendings: readonly Sending[]): Promise<void> {
    this.#inFlight.set(nodeId, (this.#inFlight.get(nodeId) ?? 0) + 1)
    try {
      await this.#request(nodeId, sendings)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      for (const { queue, batch } of sendings) this.#failed(queue, batch, error)
    } finally {
      this.#inFlight.set(nodeId, (this.#inFlight.get(nodeId) ?? 1) - 1)
      this.#takeTurn()
    }
  }

  async #request(nodeId: number, sendings: readonly Sending[]): Promise<void> {
    const { acks, compression, deliveryTimeoutMs } = this.#options
    const { requestTimeoutMs } = this.#client.options
    const timeoutMs = Math.floor(Math.min(requestTimeoutMs, deliveryTimeoutMs))
    const connection = await this.#client.connection(nodeId, 'produce')
    const knowsIds = sendings.every(({ batch }) => this.#topicId(batch) !== NO_TOPIC_ID)
    const versions = [Produce.versions[0], knowsIds ? Produce.versions[1] : TOPIC_IDS_VERSION - 1] as const
    const topicData = groupByTopic(sendings).map(([name, batches]) => ({
      name,
      topicId: this.#client.view.topics.get(name)?.topicId ?? NO_TOPIC_ID,
      partitionData: batches.map(({ batch }) => ({ index: batch.partition, records: [batch.encode(compression)] })),
    }))
    const body = { acks: acks === 'all' ? -1 : acks, timeoutMs, topicData }
    if (acks === 0) {
      await connection.sendOneWay(Produce, body, { versions })
      for (const { queue, batch } of sendings) queue.succeeded(batch, -1, -1)
      return
    }
    const answered = connection.request(Produce, body, { versions, timeoutMs: timeoutMs + ANSWER_MARGIN_MS })
    this.#onAnswer(await answered, sendings)
  }

  #topicId({ topic }: ProducerBatch): string {
    return this.#client.view.topics.get(topic)?.topicId ?? NO_TOPIC_ID
  }

  #onAnswer(response: ProduceResponse, sendings: readonly Sending[]): void {
    const answers = new Map<string, ProduceResponse['responses'][number]['partitionResponses'][number]>()
    for (const { name, topicId, partitionResponses } of response.responses) {
      const topic = name === '' ? this.#client.view.nameOf(topicId as never) : name
      for (const answer of partitionResponses) answers.set(`${topic}-${answer.index}`, answer)
    }
    for (const { nodeId, host, port, rack } of response.nodeEndpoints) {
      this.#client.view.brokers.set(nodeId, { nodeId, host, port, rack })
    }
    for (const { queue, batch } of sendings) {
      const answer = answers.get(`${batch.topic}-${batch.partition}`)
      if (answer === undefined) {
        this.#failed(queue, batch, new ConnectionError(`no answer about ${batch.topic}-${batch.partition}`))
        continue
      }
      const { errorCode, baseOffset, logAppendTimeMs, currentLeader } = answer
      if (currentLeader.leaderId >= 0) {
        this.#client.view.setLeader(batch.topic, batch.partition, currentLeader.leaderId, currentLeader.leaderEpoch)
      }
      if (errorCode === ErrorCode.NONE) this.#succeeded(queue, batch, baseOffset, logAppendTimeMs)
      // An older copy arrived; where, nobody remembers.
      else if (errorCode === ErrorCode.DUPLICATE_SEQUENCE_NUMBER) this.#succeeded(queue, batch, -1, -1)
      else {
        const what = `${batch.topic}-${batch.partition}`
        this.#failed(queue, batch, new BrokerError(errorCode, what, { message: answer.errorMessage }))
      }
    }
  }

  #succeeded(queue: PartitionQueue, batch: ProducerBatch, baseOffset: number, appendTimeMs: number): void {
    this.#backoff.reset()
    this.#lastError = null
    queue.succeeded(batch, baseOffset, appendTimeMs)
  }

  #failed(queue: PartitionQueue, batch: ProducerBatch, error: ClientError): void {
    this.#lastError = error
    const nowMs = this.#client.env.clock.monotonicMs()
    queue.failed(batch, error, error.retriable ? nowMs + this.#backoff.nextMs() : nowMs)
    if (error.retriable) this.#refresh()
    this.#busy.add(queue)
  }

  /** News of the leaders, one request at a time, with pauses while it does not help. */
  #refresh(): void {
    if (this.#isRefreshing || this.#isClosed) return
    this.#isRefreshing = true
    const topics = new Set([...this.#busy].map(({ topic }) => topic))
    this.#client.refresh(topics).then(
      () => this.#afterRefresh(0),
      (error: unknown) => {
        if (!(error instanceof ClientError)) throw error
        this.#lastError = error
        this.#afterRefresh(this.#backoff.nextMs())
      },
    )
  }

  #afterRefresh(pauseMs: number): void {
    const isHelpful = [...this.#busy].every(
      ({ topic, partition }) => (this.#client.view.partition(topic, partition)?.leader ?? -1) >= 0,
    )
    this.#client.env.timers.after(isHelpful ? pauseMs : Math.max(pauseMs, this.#backoff.nextMs()), () => {
      this.#isRefreshing = false
      this.#takeTurn()
    })
  }

  #obtainIdentity(queue: PartitionQueue): void {
    // It has used up all epochs of the identity that it has.
    if (queue.hasIdentity) this.#identity = null
    this.#identity ??= this.#client.retry('InitProducerId', () => this.#newIdentity(), this.#options.deliveryTimeoutMs)
    const obtained = this.#identity
    obtained.then(
      (identity) => {
        if (!queue.needsIdentity) return
        queue.setIdentity(identity)
        this.wake(queue)
      },
      (error: unknown) => {
        if (!(error instanceof ClientError)) throw error
        if (this.#identity === obtained) this.#identity = null
        this.#lastError = error
        queue.abandon(error)
      },
    )
  }

  async #newIdentity(): Promise<Identity> {
    const body = { transactionalId: null, transactionTimeoutMs: 0x7fffffff }
    const { errorCode, producerId, producerEpoch: epoch } = await this.#client.request('any', InitProducerId, body)
    check(errorCode, 'InitProducerId')
    return { producerId, epoch }
  }

  #setAlarm(nowMs: number): void {
    let atMs = Number.POSITIVE_INFINITY
    for (const queue of this.#busy) {
      const { readyMs, deadlineMs } = queue.nextTimes(this.#flushes > 0)
      // What is ready and was not sent waits for a leader, an identity or an answer, but not for ever.
      atMs = Math.min(atMs, readyMs > nowMs ? readyMs : deadlineMs, deadlineMs)
    }
    if (this.#alarm !== null && this.#alarm.atMs === atMs) return
    this.#alarm?.timer.cancel()
    this.#alarm = null
    if (atMs === Number.POSITIVE_INFINITY || this.#isClosed) return
    const timer = this.#client.env.timers.after(atMs - nowMs, () => {
      this.#alarm = null
      this.#takeTurn()
    })
    this.#alarm = { atMs, timer }
  }
}

function groupByTopic(sendings: readonly Sending[]): [string, Sending[]][] {
  const topics = new Map<string, Sending[]>()
  for (const sending of sendings) {
    const known = topics.get(sending.batch.topic)
    if (known === undefined) topics.set(sending.batch.topic, [sending])
    else known.push(sending)
  }
  return [...topics]
}

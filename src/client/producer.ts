import { CODECS, type Codec } from '../protocol/batch/header.ts'
import type { RecordHeader } from '../protocol/batch/build.ts'
import { type Client, definedOnly, ignoreClientError } from './client.ts'
import { checkChoice, checkInt32, checkNumber } from './checks.ts'
import { ClosedError, RecordTooLargeError, UsageError } from './errors.ts'
import { TimeoutError } from '../rpc/errors.ts'
import type { TopicInfo } from './metadata.ts'
import { PartitionQueue } from './partition-queue.ts'
import { partitionForKey, StickyPartitions } from './partitioner.ts'
import { copied, prepare, type Prepared } from './prepared-record.ts'
import type { Delivery } from './producer-batch.ts'
import { Sender } from './sender.ts'

export type Bytes = string | Uint8Array

export interface ProducerRecord {
  readonly topic: string
  /** Chosen by the key when left out, or freely when there is no key either. */
  readonly partition?: number
  readonly key?: Bytes | null
  readonly value?: Bytes | null
  readonly headers?: Readonly<Record<string, Bytes | null>> | readonly RecordHeader[]
  /** Wall clock; now when left out. */
  readonly timestampMs?: number
}

export interface ProducerOptions {
  /** `all`: every in-sync replica has it; 1: the leader has it; 0: nobody answers. */
  readonly acks?: 'all' | 1 | 0
  /** Every record once and in order, whatever is sent again. Needs acks `all`, and then is the default. */
  readonly idempotent?: boolean
  readonly compression?: Codec
  /** Of one batch before compression. */
  readonly batchBytes?: number
  /** How long a batch waits for more records. */
  readonly lingerMs?: number
  /** From `send` to the end of all tries. */
  readonly deliveryTimeoutMs?: number
  /** Requests under way to one server: at most 5 when idempotent. */
  readonly maxInFlight?: number
  /** Records in memory; over that, `send` waits. */
  readonly bufferBytes?: number
  /** One record, and one request. */
  readonly maxRequestBytes?: number
}

const DEFAULTS = {
  acks: 'all' as 'all' | 1 | 0,
  compression: 'none' as Codec,
  batchBytes: 256 * 1024,
  lingerMs: 5,
  deliveryTimeoutMs: 120_000,
  maxInFlight: 5,
  bufferBytes: 32 * 1024 * 1024,
  maxRequestBytes: 1024 * 1024,
}

const IN_FLIGHT_MAX_IDEMPOTENT = 5

export type ResolvedProducerOptions = typeof DEFAULTS & { readonly idempotent: boolean }

/**
 * Sends records. `send` resolves when the record is delivered as `acks` says, and rejects when it was given up. Records
 * of one partition are delivered in the order of the calls. When the buffer is full, `send` waits: awaiting its promise
 * is all the back-pressure that is needed.
 */
export class Producer {
  readonly #client: Client
  readonly #options: ResolvedProducerOptions
  readonly #sender: Sender
  readonly #sticky: StickyPartitions
  readonly #queues = new Map<string, PartitionQueue[]>()
  #bufferedBytes = 0
  readonly #blocked: { readonly bytes: number; grant(): void }[] = []
  /** Calls that waited for room or for news of their topic, until they are delivered. */
  readonly #waiting = new Set<Promise<Delivery>>()
  /** Those of them that are in no queue yet. */
  #unqueued = 0
  /** Topics that nothing is known about yet. */
  readonly #finding = new Map<string, { readonly found: Promise<TopicInfo>; waiting: number }>()
  /** Calls that were given room and have not taken it yet. */
  #granted = 0
  #isClosed = false
  /** Rejects when records that are in no queue yet are given up too. */
  readonly #abandoned = Promise.withResolvers<never>()

  constructor(client: Client, options: ProducerOptions = {}) {
    const acks = options.acks ?? DEFAULTS.acks
    const idempotent = options.idempotent ?? acks === 'all'
    if (idempotent && acks !== 'all') throw new UsageError(`acks ${acks} with an idempotent producer: it needs all`)
    this.#options = { ...DEFAULTS, ...definedOnly(options), idempotent }
    checkOptions(this.#options)
    const { maxInFlight } = this.#options
    if (maxInFlight < 1 || (idempotent && maxInFlight > IN_FLIGHT_MAX_IDEMPOTENT)) {
      throw new UsageError(`maxInFlight ${maxInFlight}: 1 to ${IN_FLIGHT_MAX_IDEMPOTENT} with an idempotent producer`)
    }
    this.#client = client
    this.#sender = new Sender(client, this.#options)
    this.#sticky = new StickyPartitions(client.random, this.#options.batchBytes)
  }

  /** Rejects with a `ClientError`. Whoever does not care need not look at what it returns. */
  send(record: ProducerRecord): Promise<Delivery> {
    try {
      return this.#send(record)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  #send(record: ProducerRecord): Promise<Delivery> {
    this.#mustBeOpen()
    const prepared = prepare(record, this.#client.env.clock.wallMs())
    if (prepared.bytes > this.#options.maxRequestBytes) {
      const limit = this.#options.maxRequestBytes
      throw new RecordTooLargeError(`a record of ${prepared.bytes} bytes; the limit is ${limit}`)
    }
    // Most calls find room and know their topic: these cost no more than their one promise. Behind one that waits all
    // others wait too, so that records keep their order.
    const mustWait = this.#unqueued > 0 || this.#mustWaitForRoom(prepared.bytes)
    const topic = mustWait ? undefined : this.#topicAtHand(record.topic)
    if (topic === undefined) return this.#sendLater(record, copied(prepared))
    const partition = this.#partitionOf(record, prepared, topic)
    this.#bufferedBytes += prepared.bytes
    return this.#enqueue(record.topic, partition, prepared)
  }

  #sendLater(record: ProducerRecord, prepared: Prepared): Promise<Delivery> {
    const sent = this.#sendWhenPossible(record, prepared)
    this.#waiting.add(sent)
    const done = () => this.#waiting.delete(sent)
    sent.then(done, done)
    return sent
  }

  async #sendWhenPossible(record: ProducerRecord, prepared: Prepared): Promise<Delivery> {
    this.#unqueued++
    let delivery: Promise<Delivery>
    try {
      await this.#takeRoom(prepared.bytes)
      const partition = await this.#partitionWithRoom(record, prepared)
      delivery = this.#enqueue(record.topic, partition, prepared)
    } finally {
      this.#unqueued--
    }
    return await delivery
  }

  /** Gives the room back of a record that finds no partition. */
  async #partitionWithRoom(record: ProducerRecord, prepared: Prepared): Promise<number> {
    try {
      this.#mustBeOpen()
      const topic = this.#topicAtHand(record.topic) ?? (await this.#topicOf(record.topic))
      this.#mustBeOpen()
      return this.#partitionOf(record, prepared, topic)
    } catch (error) {
      this.#giveBack(prepared.bytes)
      throw error
    }
  }

  /** From here on the room that the record takes is given back by its batch. */
  #enqueue(topic: string, partition: number, { bytes, toBuild }: Prepared): Promise<Delivery> {
    const queue = this.#queue(topic, partition)
    const delivery = queue.add(toBuild, bytes, this.#client.env.clock.monotonicMs())
    this.#sender.wake(queue)
    return delivery
  }

  readonly #giveBack = (bytes: number): void => {
    this.#bufferedBytes -= bytes
    this.#unblock()
  }

  #mustBeOpen(): void {
    if (this.#isClosed || this.#client.isClosed) throw new ClosedError('the producer is closed')
  }

  /** Whoever waits is served first, so that records keep their order. */
  #mustWaitForRoom(bytes: number): boolean {
    return this.#granted > 0 || this.#blocked.length > 0 || !this.#hasRoom(bytes)
  }

  /** Takes room in the buffer for the record, at once or when earlier calls have theirs. */
  async #takeRoom(bytes: number): Promise<void> {
    if (!this.#mustWaitForRoom(bytes)) {
      this.#bufferedBytes += bytes
      return
    }
    await this.#waitForRoom(bytes)
    this.#granted--
    this.#unblock()
  }

  #hasRoom(bytes: number): boolean {
    return this.#bufferedBytes === 0 || this.#bufferedBytes + bytes <= this.#options.bufferBytes
  }

  #waitForRoom(bytes: number): Promise<void> {
    const { bufferBytes, deliveryTimeoutMs } = this.#options
    return new Promise((resolve, reject) => {
      const timer = this.#client.env.timers.after(deliveryTimeoutMs, () => {
        this.#blocked.splice(this.#blocked.indexOf(blocked), 1)
        reject(new TimeoutError(`the buffer of ${bufferBytes} bytes stayed full for ${deliveryTimeoutMs} ms`))
        this.#unblock()
      })
      const blocked = {
        bytes,
        grant: () => {
          timer.cancel()
          resolve()
        },
      }
      this.#blocked.push(blocked)
    })
  }

  #unblock(): void {
    for (;;) {
      const [first] = this.#blocked
      if (first === undefined || !this.#hasRoom(first.bytes)) return
      this.#blocked.shift()
      this.#bufferedBytes += first.bytes
      this.#granted++
      first.grant()
    }
  }

  #partitionOf(record: ProducerRecord, { bytes, toBuild }: Prepared, topic: TopicInfo): number {
    const { topic: name, partition } = record
    const count = topic.partitions.length
    if (partition !== undefined) {
      if (partition < 0 || partition >= count)
        throw new UsageError(`${name} has no partition ${partition}, it has ${count}`)
      return partition
    }
    return toBuild.key === null ? this.#sticky.choose(topic, bytes) : partitionForKey(toBuild.key, count)
  }

  /** Of a topic that is known and that no earlier call waits for. */
  #topicAtHand(name: string): TopicInfo | undefined {
    return this.#finding.size > 0 && this.#finding.has(name) ? undefined : this.#client.knownTopic(name)
  }

  /** Who waits for news of a topic is served in the order of the calls; later calls wait behind them. */
  async #topicOf(name: string): Promise<TopicInfo> {
    let finding = this.#finding.get(name)
    if (finding === undefined) {
      const find = () => this.#client.topic(name)
      const found = this.#client.retry(`topic ${name}`, find, this.#options.deliveryTimeoutMs)
      finding = { found: Promise.race([found, this.#abandoned.promise]), waiting: 0 }
      this.#finding.set(name, finding)
    }
    finding.waiting++
    try {
      return await finding.found
    } finally {
      if (--finding.waiting === 0) this.#finding.delete(name)
    }
  }

  #queue(topic: string, partition: number): PartitionQueue {
    let queues = this.#queues.get(topic)
    if (queues === undefined) {
      queues = []
      this.#queues.set(topic, queues)
    }
    let queue = queues[partition]
    if (queue === undefined) {
      const { batchBytes, lingerMs, deliveryTimeoutMs, idempotent, maxInFlight } = this.#options
      queue = new PartitionQueue(topic, partition, {
        batchBytes,
        lingerMs,
        deliveryTimeoutMs,
        isIdempotent: idempotent,
        maxInFlight,
        settled: this.#giveBack,
      })
      queues[partition] = queue
    }
    return queue
  }

  /** Resolves when everything that was sent before has been delivered or given up. */
  async flush(): Promise<void> {
    this.#sender.beginFlush()
    const queues = [...this.#queues.values()].flatMap((list) => list.filter((queue) => queue !== undefined))
    const batches = queues.flatMap((queue) => queue.batches().map(({ settled }) => settled))
    await Promise.allSettled([...this.#waiting, ...batches])
    this.#sender.endFlush()
  }

  /** Delivers what is there, then ends. With `now`, what was not sent yet is given up. */
  async close({ now = false } = {}): Promise<void> {
    if (this.#isClosed) return
    // Calls that have not reached a queue yet are the caller's past: they are delivered too.
    if (!now) await this.flush()
    this.#isClosed = true
    if (now) this.#abandon(new ClosedError('the producer was closed'))
    await this.flush()
    this.#sender.close()
  }

  #abandon(error: ClosedError): void {
    this.#abandoned.promise.catch(ignoreClientError)
    this.#abandoned.reject(error)
    this.#sender.abandon(error)
  }
}

const ACKS = ['all', 1, 0]

function checkOptions(options: ResolvedProducerOptions): void {
  checkChoice('acks', options.acks, ACKS)
  checkChoice('compression', options.compression, CODECS)
  checkInt32('maxInFlight', options.maxInFlight, 1)
  checkNumber('deliveryTimeoutMs', options.deliveryTimeoutMs, 0)
  checkInt32('batchBytes', options.batchBytes, 0)
  checkInt32('maxRequestBytes', options.maxRequestBytes, 1)
  checkNumber('bufferBytes', options.bufferBytes, 1)
  checkNumber('lingerMs', options.lingerMs, 0)
}

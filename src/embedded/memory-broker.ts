import type { ConsumerRecord } from '../client/fetched-records.ts'
import { lagOf, type PartitionLag, totalLag } from '../client/group-lag.ts'
import type { ProducerRecord } from '../client/producer.ts'
import type { Logger } from '../env/logger.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { BrokerError } from '../rpc/errors.ts'
import { Admin, Producer } from './client.ts'
import { Faults } from './faults.ts'
import { MemoryCluster } from './memory-cluster.ts'
import { countEver, readAll } from './read-all.ts'

export interface MemoryBrokerOptions {
  /** Keys of `server.properties`. Topics come into being when they are first used, unless `auto.create.topics.enable` is false. */
  readonly settings?: Readonly<Record<string, string>>
  /** Default: silent. */
  readonly log?: Logger
}

/** What a test sends: a record, or only its value. */
export type ToProduce = string | Uint8Array | Omit<ProducerRecord, 'topic'>

type Wanted = number | ((records: readonly ConsumerRecord[]) => boolean)

/** What a test waited for is not there; says what is there instead. */
export class NotInTimeError extends Error {
  override name = 'NotInTimeError'

  constructor(
    topic: string,
    wanted: Wanted,
    { withinMs, found }: { readonly withinMs: number; readonly found: readonly ConsumerRecord[] },
  ) {
    const missed =
      typeof wanted === 'number'
        ? `where ${wanted} ${wanted === 1 ? 'is' : 'are'} waited for`
        : 'of which the condition does not hold'
    super(`after ${withinMs} ms ${topic} has ${countOf(found.length)}, ${missed}${lastOf(found)}`)
  }
}

const WAIT_MS = 5000
const LOOK_MS = 10

/**
 * A broker in the caller's own process, on a free port of loopback, with its disk in memory: the product itself, so any
 * client reaches it. Nothing is left when it is closed.
 *
 * ```ts
 * await using broker = await MemoryBroker.start()
 * await broker.produce('orders', ['a', 'b'])
 * await service.start(broker.bootstrapServers)
 * const [invoice] = await broker.waitFor('invoices', 1)
 * ```
 */
export class MemoryBroker implements AsyncDisposable {
  readonly #cluster: MemoryCluster
  readonly #admin: Admin
  readonly #producer: Producer
  /** Faults that the next requests of clients meet. */
  readonly faults: Faults

  private constructor(cluster: MemoryCluster, faults: Faults) {
    this.#cluster = cluster
    this.#admin = new Admin(cluster.bootstrapServers)
    this.#producer = new Producer(cluster.bootstrapServers, { lingerMs: 0 })
    this.faults = faults
  }

  /** Resolves when clients are served. */
  static async start({ settings = {}, log }: MemoryBrokerOptions = {}): Promise<MemoryBroker> {
    const faults = new Faults()
    const cluster = await MemoryCluster.start({
      settings: { 'auto.create.topics.enable': 'true', ...settings },
      around: (apis) => faults.around(apis),
      ...(log === undefined ? {} : { log }),
    })
    return new MemoryBroker(cluster, faults)
  }

  /** As clients want it: `127.0.0.1:41234`. */
  get bootstrapServers(): string {
    return this.#cluster.bootstrapServers
  }

  /** The time of day, in the test's hand: `await broker.clock.advance('7d')`. */
  get clock(): MemoryCluster['clock'] {
    return this.#cluster.clock
  }

  createTopic(...topic: Parameters<MemoryCluster['createTopic']>): Promise<void> {
    return this.#cluster.createTopic(...topic)
  }

  /** Resolves when all are acknowledged, in the order given for each partition. */
  async produce(topic: string, records: readonly ToProduce[]): Promise<void> {
    const sent = records.map((record) => {
      const isValue = typeof record === 'string' || record instanceof Uint8Array
      return this.#producer.send({ topic, ...(isValue ? { value: record } : record) })
    })
    await Promise.all(sent)
  }

  /** All that is in the topic now, partition by partition; nothing where there is no such topic. */
  records(topic: string): Promise<ConsumerRecord[]> {
    return readAll(this.bootstrapServers, this.#admin, topic)
  }

  /**
   * Resolves with the topic's records once there are `wanted` of them, or once `wanted` says so of them. Rejects after
   * `withinMs`, 5 s by default, and says what was there.
   */
  async waitFor(topic: string, wanted: Wanted, { withinMs = WAIT_MS } = {}): Promise<ConsumerRecord[]> {
    const isThere = typeof wanted === 'number' ? (found: readonly unknown[]) => found.length >= wanted : wanted
    const deadlineMs = performance.now() + withinMs
    let found: ConsumerRecord[] = []
    for (let seen = -1; ; ) {
      const count = await countEver(this.#admin, topic)
      if (count !== seen) found = await this.records(topic)
      if (count !== seen && isThere(found)) return found
      seen = count
      if (performance.now() > deadlineMs) throw new NotInTimeError(topic, wanted, { withinMs, found })
      await new Promise((resolve) => {
        setTimeout(resolve, LOOK_MS)
      })
    }
  }

  /** A group that does not exist (no member has joined yet, or a name is misspelt) has no lag: each of these rejects with GROUP_ID_NOT_FOUND. */
  group(groupId: string) {
    const partitions = async (): Promise<PartitionLag[]> => {
      const [group] = await this.#admin.groups.describe([groupId], { lag: true })
      if (group === undefined || group.state === 'Dead')
        throw new BrokerError(ErrorCode.GROUP_ID_NOT_FOUND, `group ${groupId}`)
      return lagOf(this.#admin, group)
    }
    return {
      /** Where it stands in each partition that it reads or has an offset for. */
      partitions,
      /**
       * Records that it has not read, from the start of a partition where it has committed nothing; null: it neither reads a
       * partition nor has an offset yet.
       */
      lag: async (): Promise<number | null> => totalLag(await partitions()),
      /** How old the oldest record is that it has not read, in milliseconds; 0: there is none, null: what it has committed does not say. */
      lagMs: async (): Promise<number | null> => oldestMs(await partitions()),
    }
  }

  /** No topics, no groups, no faults, as after a start; connections stay. Rejects while a group has members: close them first. */
  async reset(): Promise<void> {
    const groups = await this.#admin.groups.list()
    failOn(await this.#admin.groups.delete(groups.map(({ groupId }) => groupId)))
    const topics = await this.#admin.listTopics()
    if (topics.length > 0) failOn(await this.#admin.deleteTopics(topics.map(({ name }) => name)))
    this.faults.clear()
  }

  async close(): Promise<void> {
    await Promise.all([this.#producer.close({ now: true }), this.#admin.close()])
    await this.#cluster.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function failOn(results: readonly { readonly error: Error | null }[]): void {
  for (const { error } of results) if (error !== null) throw error
}

function oldestMs(partitions: readonly PartitionLag[]): number | null {
  const isUnknown = partitions.some(({ lag, known }) => lag > 0 && known === null)
  if (partitions.length === 0 || isUnknown) return null
  return Math.max(...partitions.map(({ known }) => known?.lagMs ?? 0))
}

const SHOWN_MAX = 10
const SHOWN_CHARACTERS_MAX = 60

function countOf(records: number): string {
  return records === 0 ? 'no records' : records === 1 ? '1 record' : `${records} records`
}

function lastOf(found: readonly ConsumerRecord[]): string {
  if (found.length === 0) return ''
  const last = found.slice(-SHOWN_MAX).map(({ value }) => JSON.stringify(String(value).slice(0, SHOWN_CHARACTERS_MAX)))
  return `; ${found.length > SHOWN_MAX ? `the last ${SHOWN_MAX}` : 'there'}: ${last.join(', ')}`
}

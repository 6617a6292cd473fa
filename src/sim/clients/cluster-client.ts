import type { Random } from '../../base/random.ts'
import { sleep } from '../../env/clock.ts'
import type { Env } from '../../env/env.ts'
import { type Address, NetError } from '../../env/net.ts'
import { FindCoordinator } from '../../protocol/apis/find-coordinator.ts'
import { Metadata } from '../../protocol/apis/metadata.ts'
import { ErrorCode, errorName } from '../../protocol/errors.ts'
import type { LeaderAnswer } from '../history/history.ts'
import { NoAnswerError, Wire } from './wire.ts'

/** An answer with an error code that its caller did not expect. */
export class AnswerError extends Error {
  override name = 'AnswerError'
  readonly code: number

  constructor(what: string, code: number) {
    super(`${what}: ${errorName(code)}`)
    this.code = code
  }
}

export interface TopicView {
  readonly topicId: string
  /** Leader's node id by partition; -1 where there is none. */
  readonly leaders: readonly number[]
  readonly epochs: readonly number[]
  /** Node ids by partition. */
  readonly replicas: readonly (readonly number[])[]
}

export interface ClientOptions {
  readonly env: Env
  readonly random: Random
  readonly bootstrap: readonly Address[]
  readonly clientId: string
  /** Hears who leads what, whenever a node tells it. */
  readonly onLeader?: (leader: LeaderAnswer) => void
}

const BACKOFF_MS = 50

/** Knows the cluster as a client does: its nodes, who leads what, who coordinates whom. */
export class ClusterClient {
  readonly env: Env
  readonly random: Random
  readonly #bootstrap: readonly Address[]
  readonly #clientId: string
  readonly #onLeader: ((leader: LeaderAnswer) => void) | null
  readonly #nodes = new Map<number, Address>()
  readonly #wires = new Map<string, Wire>()
  readonly #opening = new Map<string, Promise<Wire>>()
  readonly topics = new Map<string, TopicView>()
  /** By topic id and partition: what was told in the latest leader epoch. */
  readonly #newest = new Map<string, readonly { readonly leader: number; readonly epoch: number }[]>()

  constructor(options: ClientOptions) {
    this.env = options.env
    this.random = options.random
    this.#bootstrap = options.bootstrap
    this.#clientId = options.clientId
    this.#onLeader = options.onLeader ?? null
  }

  /** Repeats `attempt` until it gives something; between tries it waits a little. Failures to reach a node count as null. */
  async persist<T>(attempt: () => Promise<T | null>): Promise<T> {
    for (;;) {
      const result = await this.tolerate(attempt)
      if (result !== null) return result
      await this.backOff()
    }
  }

  /** Null where no answer came. Answers that make no sense are thrown. */
  async tolerate<T>(attempt: () => Promise<T | null>): Promise<T | null> {
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof NoAnswerError || error instanceof NetError) return null
      throw error
    }
  }

  backOff(): Promise<void> {
    return sleep(this.env.timers, BACKOFF_MS * (0.5 + this.random.float()))
  }

  /** A connection to any node. */
  any(): Promise<Wire> {
    return this.#wireTo(this.random.pick([...this.#bootstrap, ...this.#nodes.values()]))
  }

  /** Asks for the leaders of a topic's partitions; null while the topic is not known or without all its leaders. */
  async refresh(topic: string): Promise<TopicView | null> {
    const wire = await this.any()
    const body = { topics: [{ name: topic }], allowAutoTopicCreation: false, includeTopicAuthorizedOperations: false }
    const answer = await wire.request(Metadata, body, { fromVersion: 10 })
    for (const { nodeId, host, port } of answer.brokers) this.#nodes.set(nodeId, { host, port })
    const found = answer.topics.find(({ name }) => name === topic)
    if (found === undefined || found.errorCode !== 0) return null
    const partitions = [...found.partitions].sort((a, b) => a.partitionIndex - b.partitionIndex)
    for (const { partitionIndex, leaderId, leaderEpoch } of partitions) {
      if (leaderId < 0) continue
      // Under its id: a later topic of the same name begins its epochs anew.
      const partition = `${topic}-${partitionIndex} (${found.topicId})`
      this.#onLeader?.({ partition, leader: leaderId, epoch: leaderEpoch })
    }
    const known = this.#newest.get(found.topicId)
    // A node that is behind must not send us back to a leader of before (KIP-320).
    const newest = partitions.map(({ leaderId, leaderEpoch }, index) => {
      const before = known?.[index]
      return before !== undefined && before.epoch > leaderEpoch ? before : { leader: leaderId, epoch: leaderEpoch }
    })
    this.#newest.set(found.topicId, newest)
    const view = {
      topicId: found.topicId,
      leaders: newest.map(({ leader }) => leader),
      epochs: newest.map(({ epoch }) => epoch),
      replicas: partitions.map(({ replicaNodes }) => replicaNodes),
    }
    this.topics.set(topic, view)
    return view.leaders.includes(-1) ? null : view
  }

  /** What is known of the topic, asked for until it is known. */
  async topic(name: string): Promise<TopicView> {
    return this.topics.get(name) ?? (await this.persist(() => this.refresh(name)))
  }

  /** Throws `NetError` or `NoAnswerError` where the leader cannot be reached. */
  async leaderOf(topic: string, partition: number): Promise<Wire> {
    const { leaders } = await this.topic(topic)
    return this.wireToNode(leaders[partition] as number)
  }

  /** Throws `NetError` or `NoAnswerError` where it cannot be reached. */
  async wireToNode(nodeId: number): Promise<Wire> {
    const address = this.#nodes.get(nodeId)
    if (address === undefined) throw new NoAnswerError(`where node ${nodeId} is, is not known`)
    return this.#wireTo(address)
  }

  /** In which the leader that is asked must lead; now and then nothing is demanded, as by older clients: null. */
  demandedEpoch(topic: string, partition: number): number | null {
    const epoch = this.topics.get(topic)?.epochs[partition] ?? -1
    return epoch < 0 || this.random.chance(0.1) ? null : epoch
  }

  /** What was known of the topic is wrong. */
  forget(topic: string): void {
    this.topics.delete(topic)
  }

  /** Null while the group has no coordinator. */
  async coordinatorOf(group: string): Promise<Wire | null> {
    const wire = await this.any()
    const answer = await wire.request(FindCoordinator, { keyType: 0, coordinatorKeys: [group] }, { fromVersion: 4 })
    const [found] = answer.coordinators
    if (found === undefined || found.errorCode === ErrorCode.COORDINATOR_NOT_AVAILABLE) return null
    if (found.errorCode !== 0) throw new AnswerError(`coordinator of ${group}`, found.errorCode)
    return this.#wireTo({ host: found.host, port: found.port })
  }

  close(): void {
    for (const wire of this.#wires.values()) wire.close()
  }

  async #wireTo(address: Address): Promise<Wire> {
    const name = `${address.host}:${address.port}`
    const known = this.#wires.get(name)
    if (known?.isOpen) return known
    const opening = this.#opening.get(name) ?? this.#open(name, address)
    this.#opening.set(name, opening)
    return opening
  }

  async #open(name: string, address: Address): Promise<Wire> {
    try {
      const wire = await Wire.open(this.env, address, { clientId: this.#clientId, random: this.random })
      this.#wires.set(name, wire)
      return wire
    } finally {
      this.#opening.delete(name)
    }
  }
}

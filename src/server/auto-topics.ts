import { type BrokerContext, brokerConfig, brokerNumber } from '../controller/config-view.ts'
import { OFFSETS_TOPIC } from '../controller/topic-names.ts'
import { CreateTopics } from '../protocol/apis/create-topics.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { RequestOf } from '../protocol/schema.ts'
import { type ControllerForwarder, ControllerUnavailableError } from './controller-channel.ts'
import type { OffsetsTopicCreator } from './handlers/find-coordinator.ts'
import type { TopicCreator } from './handlers/metadata.ts'
import type { MetadataSource } from './services.ts'

type WantedTopic = RequestOf<typeof CreateTopics>['topics'][number]

/** "The cluster's default". */
const DEFAULT = -1
const TIMEOUT_MS = 30_000
/** Asked by this node itself, for whoever it was that needed the topic. */
const OWN = { version: CreateTopics.versions[1], clientId: null, host: '127.0.0.1', gone: false }

/**
 * Topics that come into being without anybody creating them: what a client asks for, where that is allowed, and the
 * topic of the group offsets.
 */
export class AutoTopics implements TopicCreator, OffsetsTopicCreator {
  readonly #source: MetadataSource
  readonly #broker: BrokerContext
  readonly #forwarder: ControllerForwarder
  /** Resolves when this node's image holds the metadata record at `offset` and all before. */
  readonly #caughtUp: (offset: number) => Promise<void>
  /** By topic name: one creation at a time, shared by all who ask. */
  readonly #creating = new Map<string, Promise<number>>()

  constructor(options: {
    source: MetadataSource
    broker: BrokerContext
    forwarder: ControllerForwarder
    caughtUp: (offset: number) => Promise<void>
  }) {
    this.#source = options.source
    this.#broker = options.broker
    this.#forwarder = options.forwarder
    this.#caughtUp = options.caughtUp
  }

  get autoCreates(): boolean {
    return brokerConfig(this.#source.image(), this.#broker, 'auto.create.topics.enable') === 'true'
  }

  async create(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const outcomes = await Promise.all(names.map((name) => this.#ensure(defaultTopic(name))))
    const failed = new Map<string, number>()
    outcomes.forEach((errorCode, index) => {
      if (errorCode !== ErrorCode.NONE) failed.set(names[index] as string, errorCode)
    })
    return failed
  }

  async ensureOffsetsTopic(): Promise<void> {
    await this.#ensure(this.#offsetsTopic())
  }

  #ensure(topic: WantedTopic): Promise<number> {
    let creating = this.#creating.get(topic.name)
    if (creating === undefined) {
      creating = this.#create(topic).finally(() => this.#creating.delete(topic.name))
      this.#creating.set(topic.name, creating)
    }
    return creating
  }

  async #create(topic: WantedTopic): Promise<number> {
    try {
      const request = { topics: [topic], timeoutMs: TIMEOUT_MS, validateOnly: false }
      const { response, metadataOffset } = await this.#forwarder.forward(CreateTopics, request, OWN)
      const [result] = response.topics
      const errorCode = result?.errorCode ?? ErrorCode.NONE
      if (errorCode !== ErrorCode.NONE && errorCode !== ErrorCode.TOPIC_ALREADY_EXISTS) {
        this.#source.env.log.warn('a topic could not be created', {
          topic: topic.name,
          reason: result?.errorMessage,
        })
        return errorCode === ErrorCode.INVALID_TOPIC_EXCEPTION ? errorCode : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
      }
      await this.#caughtUp(metadataOffset)
      return ErrorCode.NONE
    } catch (error) {
      if (error instanceof ControllerUnavailableError) return ErrorCode.LEADER_NOT_AVAILABLE
      throw error
    }
  }

  /** Compacted, and on as many nodes as its config says, but on all there are when they are fewer. */
  #offsetsTopic(): WantedTopic {
    const image = this.#source.image()
    const number = (key: string) => brokerNumber(image, this.#broker, key)
    let alive = 0
    for (const [, broker] of image.brokers) if (!broker.fenced) alive++
    return {
      name: OFFSETS_TOPIC,
      numPartitions: number('offsets.topic.num.partitions'),
      replicationFactor: Math.max(1, Math.min(number('offsets.topic.replication.factor'), alive)),
      assignments: [],
      configs: [
        { name: 'cleanup.policy', value: 'compact' },
        { name: 'compression.type', value: 'producer' },
        { name: 'segment.bytes', value: String(number('offsets.topic.segment.bytes')) },
      ],
    }
  }
}

function defaultTopic(name: string): WantedTopic {
  return { name, numPartitions: DEFAULT, replicationFactor: DEFAULT, assignments: [], configs: [] }
}

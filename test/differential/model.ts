import type { Random } from '../../src/base/random.ts'
import { Metadata } from '../../src/protocol/apis/metadata.ts'
import type { AnyApi } from '../../src/protocol/schema.ts'
import { type Body, Learned, type Step } from './step.ts'

export interface ModelTopic {
  readonly name: string
  exists: boolean
  partitions: number
  /** How often it was created: each time it has another id. */
  incarnation: number
  /** Records that were probably appended, by partition. */
  readonly ends: number[]
}

export interface ModelMember {
  /** Also the name of its connection. */
  readonly key: string
  readonly group: string
  readonly instanceId: string | null
  hasId: boolean
}

export interface ModelProducer {
  readonly key: string
  epoch: number
  /** The next sequence number, by partition of a topic. */
  readonly sequences: Map<string, number>
}

const ZERO_ID = 'AAAAAAAAAAAAAAAAAAAAAA'
/** An id for a topic that has not been created yet. */
function unknownId(name: string): string {
  return Buffer.from(name.padStart(16).slice(-16)).toString('base64url')
}

/**
 * What a sequence believes of the servers, so that most of its requests mean something. It is never asked whether an
 * answer is right: that only the other server says.
 */
export class Model {
  readonly random: Random
  /** Every name of a sequence begins with it, so that sequences do not meet. */
  readonly prefix: string
  /** Timestamps of records are about here: fixed for a run, so that both sides get the same. */
  readonly nowMs: number
  readonly topics: ModelTopic[] = []
  readonly members: ModelMember[] = []
  readonly groups: readonly string[]
  readonly producers: ModelProducer[] = []
  /** Names of fetch sessions that were begun. */
  readonly sessions: { readonly key: string; epoch: number }[] = []

  constructor(random: Random, prefix: string, nowMs: number) {
    this.random = random
    this.prefix = prefix
    this.nowMs = nowMs
    this.groups = [`${prefix}g0`, `${prefix}g1`]
    const names = ['t0', 't1', 't.2', 't_2', 't-longer-name']
    for (const name of names) {
      this.topics.push({ name: prefix + name, exists: false, partitions: 0, incarnation: 0, ends: [] })
    }
  }

  version(api: AnyApi, from = api.versions[0]): number {
    return this.random.between(Math.max(from, api.versions[0]), api.versions[1])
  }

  /** Mostly a topic that is there. */
  topic(): ModelTopic {
    const there = this.topics.filter(({ exists }) => exists)
    if (there.length > 0 && this.random.chance(0.93)) return this.random.pick(there)
    return this.random.pick(this.topics.slice(0, 3))
  }

  /** Up to so many topics, each once: what an answer says of one that was named twice is each server's own. */
  topicsOnce(count: number): ModelTopic[] {
    return [...new Set(Array.from({ length: count }, () => this.topic()))]
  }

  partitionsOnce(topic: ModelTopic, count: number): number[] {
    return [...new Set(Array.from({ length: count }, () => this.partition(topic)))]
  }

  /** Mostly a partition that is there. */
  partition({ partitions }: ModelTopic): number {
    if (partitions > 0 && this.random.chance(0.93)) return this.random.below(partitions)
    return this.random.pick([partitions, partitions + 1, -1, 99])
  }

  /** The id that the topic has, or had in an earlier life. */
  topicId({ name, incarnation }: ModelTopic): unknown {
    if (this.random.chance(0.03)) return this.random.bytes(16).toString('base64url')
    const life = incarnation > 1 && this.random.chance(0.2) ? incarnation - 1 : incarnation
    return new Learned(`topic ${name} ${life}`, unknownId(name))
  }

  /** An offset inside the partition mostly, or about its ends, or nonsense. */
  offset(topic: ModelTopic, partition: number): number {
    const end = topic.ends[partition] ?? 0
    if (this.random.chance(0.7)) return this.random.between(0, end)
    return this.random.pick([end, end + 1, end - 1, 0, -1, -2, 1000, 2 ** 31, 2 ** 53 - 1])
  }

  leaderEpoch(): number {
    return this.random.chance(0.75) ? -1 : this.random.pick([0, 0, 1, -1, -2, 100])
  }

  group(): string {
    if (this.random.chance(0.9)) return this.groups[0] as string
    return this.random.pick([this.groups[1] as string, `${this.prefix}no-group`, ''])
  }

  /** Tells both sides' memories the ids of topics. */
  askForIds(topics: readonly ModelTopic[]): Step {
    const body: Body = { topics: topics.map(({ name }) => ({ topicId: ZERO_ID, name })), allowAutoTopicCreation: false }
    const lives = topics.map(({ name, incarnation }) => ({ name, key: `topic ${name} ${incarnation}` }))
    return {
      api: Metadata,
      version: this.version(Metadata, 10),
      body,
      learn(answer, tell) {
        for (const { name, topicId } of answer['topics'] as { name: string; topicId: string }[]) {
          const key = lives.find((life) => life.name === name)?.key
          if (key !== undefined && topicId !== ZERO_ID) tell(key, topicId)
        }
      },
    }
  }
}

import type { MetadataImage, PartitionImage, TopicImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import { takesRecords } from '../model/disk-space.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { DecisionContext } from './decision.ts'
import { DURABILITY_FEATURE, isElrOn } from './feature-names.ts'
import type { TopicRules } from './partition-change.ts'
import { directoryFor, isActive, UNASSIGNED_DIRECTORY } from './partition-records.ts'
import { configuredMinInsync, topicConfigSource } from './topic-config.ts'
import { isInternalTopic } from './topic-names.ts'

type Rulers = Pick<DecisionContext, 'image' | 'broker'>

/** Brokers that count as something else than the image says, because the decision is about them. */
export interface Assumed {
  /** About to go: leads nothing, whatever it seems. */
  readonly gone?: number
  /** About to serve, though the image has it fenced. */
  readonly back?: number
  /** What its disk will be in the image. */
  readonly space?: { readonly brokerId: number; readonly outOfSpace: number }
}

/** Reads what a topic allows, once for all that have the same set. */
export class TopicRulings {
  readonly #context: Rulers
  readonly #assumed: Assumed
  readonly #elrOn: boolean
  readonly #allCountDurable: boolean
  /** By what is set on the topic: most have nothing, and share one. */
  readonly #byConfigs = new Map<ReadonlyMap<string, string>, TopicRules>()
  readonly #ofInternal = new Map<string, TopicRules>()
  readonly #isAnyFull: boolean

  constructor(context: Rulers, assumed: Assumed = {}) {
    this.#context = context
    this.#assumed = assumed
    this.#elrOn = isElrOn(context.image)
    this.#allCountDurable = [...context.image.brokers.keys()].every((id) => countsDurable(context.image, id))
    this.#isAnyFull = [...context.image.brokers.keys()].some((id) => this.#outOfSpace(id) > 0)
  }

  of(topic: TopicImage): TopicRules {
    if (isInternalTopic(topic.name)) return this.#internal(topic.name)
    const configs = this.#context.image.configOf({ type: ResourceType.topic, name: topic.name })
    let rules = this.#byConfigs.get(configs)
    if (rules === undefined) {
      rules = this.#read(topic.name)
      this.#byConfigs.set(configs, rules)
    }
    return rules
  }

  #internal(name: string): TopicRules {
    const rules = this.#ofInternal.get(name) ?? this.#read(name)
    this.#ofInternal.set(name, rules)
    return rules
  }

  #read(name: string): TopicRules {
    const { image, broker } = this.#context
    const isInternal = isInternalTopic(name)
    const config = topicConfigSource(image, broker, name)
    const minInsyncReplicas = configuredMinInsync(image, broker, name)
    return {
      mayLead: (brokerId, directory) => this.#mayLead(brokerId, directory),
      hasRoom: (brokerId) => !this.#isAnyFull || takesRecords(this.#outOfSpace(brokerId), isInternal),
      directoryFor: (brokerId) => directoryFor(image, brokerId),
      // An Apache Kafka leader goes by 1 where nobody set min.insync.replicas, and would commit without the eligible ones.
      elr: this.#elrOn && (minInsyncReplicas !== null || this.#allCountDurable),
      minInsyncReplicas,
      unclean: config('unclean.leader.election.enable') === 'true',
      relaxed: config('durability.mode') === 'relaxed',
    }
  }

  #outOfSpace(brokerId: number): number {
    const { space } = this.#assumed
    if (brokerId === space?.brokerId) return space.outOfSpace
    return this.#context.image.broker(brokerId)?.outOfSpace ?? 0
  }

  #mayLead(brokerId: number, directory: string | undefined): boolean {
    if (brokerId === this.#assumed.gone) return false
    if (brokerId !== this.#assumed.back && !isActive(this.#context.image, brokerId)) return false
    return hasDirectory(this.#context.image, brokerId, directory)
  }
}

/** In fsync topics this broker counts only what is on its disk; an Apache Kafka broker counts its page cache. */
export function countsDurable(image: MetadataImage, brokerId: number): boolean {
  const range = image.broker(brokerId)?.features.find(({ name }) => name === DURABILITY_FEATURE)
  return range !== undefined && range.maxSupportedVersion > 0
}

/** Whether a crash of one of them can have lost something that counted. */
export function losesNothingInCrash(image: MetadataImage, rules: TopicRules, { replicas }: PartitionImage): boolean {
  return !rules.relaxed && replicas.every((brokerId) => countsDurable(image, brokerId))
}

/** The log directory is one that the broker has; a replica without one yet may be anywhere (KIP-858). */
function hasDirectory(image: MetadataImage, brokerId: number, directory: string | undefined): boolean {
  if (directory === undefined || isUndecided(directory)) return true
  const logDirs = image.broker(brokerId)?.logDirs ?? []
  return logDirs.length === 0 || logDirs.includes(directory)
}

/** Not placed yet, or from before there were directories. */
export function isUndecided(directory: string): boolean {
  return directory === UNASSIGNED_DIRECTORY || directory === NO_TOPIC_ID
}

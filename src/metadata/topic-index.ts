import type { PartitionImage, TopicImage } from './image.ts'
import { PersistentMap } from './persistent-map.ts'

type TopicIds = PersistentMap<string, true>

/**
 * Which topics a decision about one broker, or about what is not as it should be, has to look at. By topic and not by
 * partition: a topic's partitions are walked faster than an index of them is kept, and an idle partition costs nothing.
 * Immutable, like the image it belongs to.
 */
export class TopicIndex {
  static readonly empty = new TopicIndex(PersistentMap.empty())
  readonly #topics: PersistentMap<string, TopicIds>

  private constructor(topics: PersistentMap<string, TopicIds>) {
    this.#topics = topics
  }

  /** Topics with a replica on the broker. */
  hostedBy(brokerId: number): Iterable<string> {
    return this.#of(`hosted by ${brokerId}`).keys()
  }

  /** Topics with a partition that the broker leads. */
  ledBy(brokerId: number): Iterable<string> {
    return this.#of(`led by ${brokerId}`).keys()
  }

  leadsAny(brokerId: number): boolean {
    return this.#of(`led by ${brokerId}`).size > 0
  }

  /** Topics with a partition that nobody leads. */
  get leaderless(): Iterable<string> {
    return this.#of(LEADERLESS).keys()
  }

  /** Topics with a partition whose replicas are being changed (KIP-455). */
  get reassigning(): Iterable<string> {
    return this.#of(REASSIGNING).keys()
  }

  /** Topics with a partition that is led by another replica than its first one. */
  get notPreferred(): Iterable<string> {
    return this.#of(NOT_PREFERRED).keys()
  }

  /** Topics with a partition that has eligible leader replicas (KIP-966). */
  get withEligible(): Iterable<string> {
    return this.#of(WITH_ELIGIBLE).keys()
  }

  /** One topic changed, came (`before` undefined) or went (`after` undefined). */
  with(topicId: string, before: TopicImage | undefined, after: TopicImage | undefined): TopicIndex {
    if (before === after) return this
    const old = before === undefined ? NONE : traitsOf(before.partitions)
    const now = after === undefined ? NONE : traitsOf(after.partitions)
    let topics = this.#topics
    for (const trait of now) {
      if (!old.has(trait)) topics = topics.set(trait, (topics.get(trait) ?? PersistentMap.empty()).set(topicId, true))
    }
    for (const trait of old) {
      if (now.has(trait)) continue
      const rest = topics.get(trait)?.delete(topicId) ?? PersistentMap.empty()
      topics = rest.size === 0 ? topics.delete(trait) : topics.set(trait, rest)
    }
    return topics === this.#topics ? this : new TopicIndex(topics)
  }

  #of(trait: string): TopicIds {
    return this.#topics.get(trait) ?? PersistentMap.empty()
  }
}

const NONE: ReadonlySet<string> = new Set()
const LEADERLESS = 'leaderless'
const REASSIGNING = 'reassigning'
const NOT_PREFERRED = 'not preferred'
const WITH_ELIGIBLE = 'with eligible'

function traitsOf(partitions: readonly PartitionImage[]): Set<string> {
  const hosts = new Set<number>()
  const leaders = new Set<number>()
  const traits = new Set<string>()
  for (const { replicas, leader, addingReplicas, removingReplicas, elr } of partitions) {
    for (const brokerId of replicas) hosts.add(brokerId)
    if (leader < 0) traits.add(LEADERLESS)
    else leaders.add(leader)
    if (leader !== replicas[0]) traits.add(NOT_PREFERRED)
    if (elr.length > 0) traits.add(WITH_ELIGIBLE)
    if (addingReplicas.length > 0 || removingReplicas.length > 0) traits.add(REASSIGNING)
  }
  for (const brokerId of hosts) traits.add(`hosted by ${brokerId}`)
  for (const brokerId of leaders) traits.add(`led by ${brokerId}`)
  return traits
}

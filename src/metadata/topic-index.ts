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
  /** By trait: a number, because there are very many topics. */
  readonly #topics: PersistentMap<number, TopicIds>

  private constructor(topics: PersistentMap<number, TopicIds>) {
    this.#topics = topics
  }

  /** Topics with a replica on the broker. */
  hostedBy(brokerId: number): Iterable<string> {
    return this.#of(hostedBy(brokerId)).keys()
  }

  /** Topics with a partition that the broker leads. */
  ledBy(brokerId: number): Iterable<string> {
    return this.#of(ledBy(brokerId)).keys()
  }

  leadsAny(brokerId: number): boolean {
    return this.#of(ledBy(brokerId)).size > 0
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
    if (before === after || haveSameTraits(before, after)) return this
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

  #of(trait: number): TopicIds {
    return this.#topics.get(trait) ?? PersistentMap.empty()
  }
}

const NONE: ReadonlySet<number> = new Set()
const LEADERLESS = -1
const REASSIGNING = -2
const NOT_PREFERRED = -3
const WITH_ELIGIBLE = -4
const hostedBy = (brokerId: number) => 2 * brokerId
const ledBy = (brokerId: number) => 2 * brokerId + 1

function traitsOf(partitions: readonly PartitionImage[]): Set<number> {
  const traits = new Set<number>()
  for (const { replicas, leader, addingReplicas, removingReplicas, elr } of partitions) {
    for (const brokerId of replicas) traits.add(hostedBy(brokerId))
    traits.add(leader < 0 ? LEADERLESS : ledBy(leader))
    if (leader !== replicas[0]) traits.add(NOT_PREFERRED)
    if (addingReplicas.length > 0 || removingReplicas.length > 0) traits.add(REASSIGNING)
    if (elr.length > 0) traits.add(WITH_ELIGIBLE)
  }
  return traits
}

/** Most changes are of an ISR, and change nothing here. */
function haveSameTraits(before: TopicImage | undefined, after: TopicImage | undefined): boolean {
  if (before === undefined || after === undefined || before.partitions.length !== after.partitions.length) return false
  return after.partitions.every((now, i) => {
    const old = before.partitions[i] as PartitionImage
    if (old === now) return true
    return (
      old.leader === now.leader &&
      old.replicas === now.replicas &&
      old.addingReplicas === now.addingReplicas &&
      old.removingReplicas === now.removingReplicas &&
      old.elr.length === 0 &&
      now.elr.length === 0
    )
  })
}

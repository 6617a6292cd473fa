import type { PartitionImage, TopicImage } from '../metadata/image.ts'
import { type MetadataRecord, NO_LEADER, partitionChange } from '../metadata/records.ts'
import type { DecisionContext, Notice } from './decision.ts'
import { changeOf, type PartitionTarget, type TopicRules } from './partition-change.ts'
import { type Assumed, TopicRulings } from './topic-rules.ts'
import { uncleanNotices } from './unclean-notices.ts'

export type Ruling = Pick<DecisionContext, 'image' | 'broker'>

export interface Changes {
  readonly records: readonly MetadataRecord[]
  readonly notices: readonly Notice[]
}

/** What is wanted of a partition, or null when it is not concerned. */
type Wanted = (partition: PartitionImage, rules: TopicRules, partitionId: number) => PartitionTarget | null

/**
 * `brokerId` stops: fenced, in a controlled stop, or come back as another incarnation. It leads no more and leaves each ISR;
 * where that leaves too few, it stays eligible (KIP-966).
 */
export function withoutBroker(context: Ruling, brokerId: number): Changes {
  return changesOf(context, topicsOn(context, brokerId), { gone: brokerId }, (partition) =>
    partition.isr.includes(brokerId) ? { isr: without(partition.isr, brokerId) } : null,
  )
}

/** What is left of a replica when its broker comes back. */
export type Remains = 'all' | 'maybe-less' | 'nothing'

/**
 * `brokerId` comes back, or is taken out. Where it may miss committed records it is neither in sync nor eligible any more
 * (I9); where its disk is another one, its replica lies on that now (`directory`), empty, and does not count as the last
 * leader either. For all others it is a broker that stops.
 */
export function withBrokerReplaced(
  context: Ruling,
  brokerId: number,
  directory: string | null,
  remains: (partition: PartitionImage, rules: TopicRules) => Remains,
): Changes {
  return changesOf(context, topicsOn(context, brokerId), { gone: brokerId }, (partition, rules) => {
    const left = partition.replicas.includes(brokerId) ? remains(partition, rules) : 'all'
    const isr = without(partition.isr, brokerId)
    if (left === 'nothing') {
      // Where it is kept in sync for want of a better one, it must not be taken for what was there.
      const moves = directory !== null && (rules.elr || isr.length > 0 || !partition.isr.includes(brokerId))
      const directories = moves ? { directories: new Map([[brokerId, directory]]) } : {}
      return { isr, lost: [brokerId], emptied: brokerId, ...directories }
    }
    if (![...partition.isr, ...partition.elr].includes(brokerId)) return null
    return left === 'all' ? { isr } : { isr, lost: [brokerId] }
  })
}

/** `brokerId` comes to serve: it may lead what has no leader. */
export function withBroker(context: Ruling, brokerId: number): Changes {
  const leaderless = topicsById(context, context.image.topicIndex.leaderless)
  return changesOf(context, leaderless, { back: brokerId }, ({ leader, replicas }) =>
    leader === NO_LEADER && replicas.includes(brokerId) ? {} : null,
  )
}

/** The disk of `brokerId` is full, or has room again: that decides who is in sync, and who leads. */
export function withSpace(context: Ruling, brokerId: number, outOfSpace: number): Changes {
  return changesOf(context, topicsOn(context, brokerId), { space: { brokerId, outOfSpace } }, ({ replicas }) =>
    replicas.includes(brokerId) ? {} : null,
  )
}

/** Goes through the partitions of `topics` in one pass; their order, and so the log, is the same on every controller. */
export function changesOf(
  context: Ruling,
  topics: readonly TopicImage[],
  assumed: Assumed,
  wanted: Wanted,
  recordsMax = Number.POSITIVE_INFINITY,
): Changes {
  const rulings = new TopicRulings(context, assumed)
  const records: MetadataRecord[] = []
  const notices: Notice[] = []
  for (const topic of topics) {
    for (const [partitionId, partition] of topic.partitions.entries()) {
      if (records.length >= recordsMax) return { records, notices }
      const rules = rulings.of(topic)
      const target = wanted(partition, rules, partitionId)
      const change = target === null ? null : changeOf(partition, target, rules)
      if (change === null) continue
      records.push(partitionChange({ topicId: topic.topicId, partitionId, ...change.fields }))
      notices.push(...uncleanNotices(topic.name, partitionId, partition, change))
    }
  }
  return { records, notices }
}

function topicsOn(context: Ruling, brokerId: number): TopicImage[] {
  return topicsById(context, context.image.topicIndex.hostedBy(brokerId))
}

/** By name: for whoever reads the log. */
export function topicsById({ image }: Ruling, topicIds: Iterable<string>): TopicImage[] {
  const topics = [...topicIds].map((topicId) => image.topicById(topicId) as TopicImage)
  return topics.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function without(brokerIds: readonly number[], brokerId: number): number[] {
  return brokerIds.filter((id) => id !== brokerId)
}

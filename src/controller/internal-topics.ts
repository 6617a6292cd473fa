import type { PartitionImage, TopicImage } from '../metadata/image.ts'
import { brokerNumber } from './config-view.ts'
import { type Changes, changesOf, type Ruling } from './elections.ts'
import { isActive } from './partition-records.ts'
import { placeReplicas } from './placement.ts'
import { OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_TOPIC } from './topic-names.ts'

const wantedCopies: readonly (readonly [topic: string, key: string])[] = [
  [OFFSETS_TOPIC, 'offsets.topic.replication.factor'],
  [TRANSACTION_TOPIC, 'transaction.state.log.replication.factor'],
  [SHARE_STATE_TOPIC, 'share.coordinator.state.topic.replication.factor'],
]

/** How many copies an internal topic is kept at, as brokers go now, and the setting that says so; null for other topics. */
export function copiesKept(
  context: Ruling,
  topic: string,
): { readonly copies: number; readonly setting: string } | null {
  const setting = wantedCopies.find(([name]) => name === topic)?.[1]
  if (setting === undefined) return null
  return {
    copies: Math.min(brokerNumber(context.image, context.broker, setting), activeBrokers(context).length),
    setting,
  }
}

function activeBrokers({ image }: Ruling) {
  return [...image.brokers.values()].filter(({ brokerId }) => isActive(image, brokerId))
}

/**
 * Internal topics come into being with their first user, often when the cluster has one node, and nobody thinks of them
 * when it grows: all groups would hang on that node. So they get the copies that their config names as soon as there
 * are brokers for them. Replicas are only added; each partition keeps those it has. Other topics are left as their
 * owners made them.
 */
export function raiseInternalCopies(context: Ruling): Changes {
  const { image, broker } = context
  const active = activeBrokers(context)
  let changes: Changes = { records: [], notices: [] }
  for (const [name, key] of wantedCopies) {
    const topic = image.topic(name)
    const wanted = Math.min(brokerNumber(image, broker, key), active.length)
    if (topic === undefined || topic.partitions.every((partition) => isEnough(partition, wanted))) continue
    const placed = placeReplicas(active, {
      firstPartition: 0,
      partitions: topic.partitions.length,
      replicationFactor: wanted,
      rotation: 0,
    })
    if ('error' in placed) continue
    const { records, notices } = raised(context, topic, placed, wanted)
    changes = { records: [...changes.records, ...records], notices: [...changes.notices, ...notices] }
  }
  return changes
}

function raised(context: Ruling, topic: TopicImage, placed: readonly (readonly number[])[], wanted: number): Changes {
  const { records, notices } = changesOf(context, [topic], {}, (partition, _rules, partitionId) => {
    if (isEnough(partition, wanted)) return null
    const places = placed[partitionId] ?? []
    const adding = places.filter((id) => !partition.replicas.includes(id)).slice(0, wanted - partition.replicas.length)
    const kept = [...partition.replicas, ...adding]
    // In the order of the placement, so that the preferred leaders are spread as well.
    const replicas = [...places.filter((id) => kept.includes(id)), ...kept.filter((id) => !places.includes(id))]
    return { replicas, adding }
  })
  const message = `${topic.name} gets ${wanted} copies, as there are brokers for them now`
  const details = { topic: topic.name, partitions: records.length, copies: wanted }
  return { records, notices: [{ level: 'info', message, details }, ...notices] }
}

/** One that is being changed already is looked at again when that is done. */
function isEnough({ replicas, addingReplicas, removingReplicas }: PartitionImage, wanted: number): boolean {
  return replicas.length >= wanted || addingReplicas.length > 0 || removingReplicas.length > 0
}

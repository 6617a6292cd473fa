import type { BrokerImage, PartitionImage, TopicImage } from '../metadata/image.ts'
import { changePartition } from '../metadata/partition-image.ts'
import { type MetadataRecord, partitionChange } from '../metadata/records.ts'
import type {
  AssignReplicasToDirsRequest,
  AssignReplicasToDirsResponse,
} from '../protocol/apis/assign-replicas-to-dirs.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { fence, registrationChange } from './brokers.ts'
import type { Decision, DecisionContext } from './decision.ts'
import { type Changes, changesOf, type Ruling, topicsById } from './elections.ts'
import { changeOf, type PartitionTarget } from './partition-change.ts'
import { isUndecided, TopicRulings } from './topic-rules.ts'

/**
 * A broker says in which of its directories replicas lie (KIP-858), or that they lie in none that works: such a replica
 * is not in sync and leads nothing.
 */
export function assignReplicasToDirs(
  context: DecisionContext,
  request: AssignReplicasToDirsRequest,
): Decision<AssignReplicasToDirsResponse> {
  const broker = context.image.broker(request.brokerId)
  if (broker === undefined || broker.brokerEpoch !== request.brokerEpoch) {
    const response = { throttleTimeMs: 0, errorCode: ErrorCode.STALE_BROKER_EPOCH, directories: [] }
    return { records: [], response }
  }
  const assignment = new Assignment(context, broker)
  const directories = request.directories.map(({ id, topics }) => ({
    id,
    topics: topics.map(({ topicId, partitions }) => ({
      topicId,
      partitions: partitions.map(({ partitionIndex, isDamaged }) => {
        return { partitionIndex, errorCode: assignment.place({ id, isDamaged }, topicId, partitionIndex) }
      }),
    })),
  }))
  return { records: assignment.records, response: { throttleTimeMs: 0, errorCode: ErrorCode.NONE, directories } }
}

interface Place {
  readonly id: string
  readonly isDamaged: boolean
}

class Assignment {
  readonly records: MetadataRecord[] = []
  readonly #context: DecisionContext
  readonly #broker: BrokerImage
  readonly #rulings: TopicRulings
  /** What a partition has become in this request, by topic id and number. */
  readonly #changed = new Map<string, PartitionImage>()

  constructor(context: DecisionContext, broker: BrokerImage) {
    this.#context = context
    this.#broker = broker
    this.#rulings = new TopicRulings(context)
  }

  place(directory: Place, topicId: string, partitionId: number): number {
    const topic = this.#context.image.topicById(topicId)
    if (topic === undefined) return ErrorCode.UNKNOWN_TOPIC_ID
    const key = `${topicId}:${partitionId}`
    const partition = this.#changed.get(key) ?? topic.partitions[partitionId]
    if (partition === undefined) return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if (!partition.replicas.includes(this.#broker.brokerId)) return ErrorCode.NOT_LEADER_OR_FOLLOWER
    const changed = this.#place(directory, topic, partitionId, partition)
    if (changed !== null) this.#changed.set(key, changed)
    return ErrorCode.NONE
  }

  #place(place: Place, topic: TopicImage, partitionId: number, partition: PartitionImage): PartitionImage | null {
    const { brokerId, logDirs } = this.#broker
    const works = isUndecided(place.id) || logDirs.includes(place.id)
    const isr = partition.isr.filter((id) => id !== brokerId)
    // What is left of a damaged log is better than nothing, and nothing as soon as another replica has all of it.
    const lost = place.isDamaged && isr.length > 0 ? [brokerId] : []
    const target: PartitionTarget = {
      directories: new Map([[brokerId, place.id]]),
      // Its broker may fetch it anew as soon as it hears of this, in the same life (KIP-903 tells lives apart, not logs).
      ...(works ? {} : { isr, lost, beginsEpoch: place.isDamaged }),
    }
    const change = changeOf(partition, target, this.#rulings.of(topic))
    if (change === null) return null
    const record = partitionChange({ topicId: topic.topicId, partitionId, ...change.fields })
    this.records.push(record)
    return record.type === 'PartitionChange' ? changePartition(partition, record.value) : null
  }
}

/** Directories of a broker have failed: its replicas there are not in sync and lead nothing. */
export function withoutDirectories(context: Ruling, broker: BrokerImage, failed: readonly string[]): Changes {
  const lost = failed.filter((directory) => broker.logDirs.includes(directory))
  if (lost.length === 0) return { records: [], notices: [] }
  const { brokerId } = broker
  const logDirs = broker.logDirs.filter((directory) => !lost.includes(directory))
  if (logDirs.length === 0) return fence(context, broker, 'none of its log directories works')
  const topics = topicsById(context, context.image.topicIndex.hostedBy(brokerId))
  const isThere = ({ replicas, directories }: PartitionImage) =>
    lost.includes(directories[replicas.indexOf(brokerId)] ?? '')
  // The broker serves on: it may lead what lies elsewhere, and `gone` is looked at for these partitions only.
  const { records, notices } = changesOf(context, topics, { gone: brokerId }, (partition) =>
    isThere(partition) && partition.isr.includes(brokerId)
      ? { isr: partition.isr.filter((id) => id !== brokerId) }
      : null,
  )
  const message = `Node ${brokerId} has lost ${lost.length} of ${broker.logDirs.length} log directories`
  return {
    records: [registrationChange(broker, { logDirs }), ...records],
    notices: [{ level: 'warn', message, details: { node: brokerId, directories: lost.join() } }, ...notices],
  }
}

/** No new replicas go to these directories (KIP-1066). Null: the broker says nothing of them. */
export function cordoned(broker: BrokerImage, directories: readonly string[] | null): readonly MetadataRecord[] {
  const before = broker.cordonedLogDirs ?? []
  if (directories === null) return []
  if (directories.length === before.length && directories.every((id) => before.includes(id))) return []
  return [registrationChange(broker, { cordonedLogDirs: directories })]
}

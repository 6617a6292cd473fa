import type { MetadataImage, PartitionImage } from '../metadata/image.ts'
import { changePartition } from '../metadata/partition-image.ts'
import { type MetadataRecord, NO_LEADER_CHANGE, partitionChange } from '../metadata/records.ts'
import type { TopicId } from '../model/ids.ts'
import type { AlterPartitionRequest, AlterPartitionResponse } from '../protocol/apis/alter-partition.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Decision, DecisionContext } from './decision.ts'
import { changeOf } from './partition-change.ts'
import { TopicRulings } from './topic-rules.ts'

type TopicRequest = AlterPartitionRequest['topics'][number]
type Wanted = TopicRequest['partitions'][number]
type TopicResult = AlterPartitionResponse['topics'][number]
type Result = TopicResult['partitions'][number]

const RECOVERED = 0
const RECOVERING = 1

/**
 * A leader changes its ISR: a compare-and-set on the partition epoch (KIP-497). Members must be alive, not about to stop,
 * and the incarnation that the leader saw (KIP-841, KIP-903). Versions 2 and 3; 2 names no incarnations.
 */
export function alterPartition(
  context: DecisionContext,
  request: AlterPartitionRequest,
): Decision<AlterPartitionResponse> {
  const { image, version } = context
  // A broker that is not registered at all is told the same: what it knows of itself is out of date.
  if (image.broker(request.brokerId)?.brokerEpoch !== request.brokerEpoch) {
    const response = { throttleTimeMs: 0, errorCode: ErrorCode.STALE_BROKER_EPOCH, topics: [] }
    return { records: [], response }
  }
  const alteration = new Alteration(context, request.brokerId, version)
  const topics = request.topics.map((topic) => alteration.topic(topic))
  return { records: alteration.records, response: { throttleTimeMs: 0, errorCode: ErrorCode.NONE, topics } }
}

class Alteration {
  readonly records: MetadataRecord[] = []
  readonly #image: MetadataImage
  readonly #rulings: TopicRulings
  readonly #brokerId: number
  readonly #version: number
  /** Named once more in the same request, a partition is no longer what the image says. */
  readonly #done = new Set<string>()

  constructor(context: DecisionContext, brokerId: number, version: number) {
    this.#image = context.image
    this.#rulings = new TopicRulings(context)
    this.#brokerId = brokerId
    this.#version = version
  }

  topic({ topicId, partitions }: TopicRequest): TopicResult {
    const id = topicId as TopicId
    if (this.#image.topicById(id) === undefined) {
      return { topicId, partitions: partitions.map((wanted) => failed(wanted, ErrorCode.UNKNOWN_TOPIC_ID)) }
    }
    return { topicId, partitions: partitions.map((wanted) => this.#partition(id, wanted)) }
  }

  #partition(topicId: TopicId, wanted: Wanted): Result {
    const topic = this.#image.topicById(topicId)
    const partition = topic?.partitions[wanted.partitionIndex]
    if (topic === undefined || partition === undefined) return failed(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    const isr = this.#isrOf(wanted)
    const errorCode = this.#refusalOf(partition, wanted, isr)
    if (errorCode !== ErrorCode.NONE) return failed(wanted, errorCode)
    const key = `${topicId}:${wanted.partitionIndex}`
    if (this.#done.has(key)) return failed(wanted, ErrorCode.INVALID_UPDATE_VERSION)
    this.#done.add(key)
    const { leaderRecoveryState, partitionIndex: partitionId } = wanted
    const target = { isr: isr.map(({ brokerId }) => brokerId), leaderRecoveryState }
    const change = changeOf(partition, target, this.#rulings.of(topic))
    if (change === null) return accepted(wanted, partition)
    const record = partitionChange({ topicId, partitionId, ...change.fields })
    this.records.push(record)
    const { leader = NO_LEADER_CHANGE } = change.fields
    // The change completed a reassignment that takes the leader away: done, but no longer this leader's to know.
    if (leader !== NO_LEADER_CHANGE && leader !== this.#brokerId) return failed(wanted, ErrorCode.NEW_LEADER_ELECTED)
    return accepted(wanted, record.type === 'PartitionChange' ? changePartition(partition, record.value) : partition)
  }

  #isrOf({ newIsr, newIsrWithEpochs }: Wanted): Wanted['newIsrWithEpochs'] {
    return this.#version >= 3 ? newIsrWithEpochs : newIsr.map((brokerId) => ({ brokerId, brokerEpoch: -1 }))
  }

  #refusalOf(partition: PartitionImage, wanted: Wanted, isr: Wanted['newIsrWithEpochs']): number {
    const { leaderEpoch, partitionEpoch, leaderRecoveryState } = wanted
    // A leader that knows more than this controller has heard of a newer one.
    if (leaderEpoch > partition.leaderEpoch || partitionEpoch > partition.partitionEpoch)
      return ErrorCode.NOT_CONTROLLER
    if (leaderEpoch < partition.leaderEpoch) return ErrorCode.FENCED_LEADER_EPOCH
    if (this.#brokerId !== partition.leader) return ErrorCode.INVALID_REQUEST
    if (partitionEpoch < partition.partitionEpoch) return ErrorCode.INVALID_UPDATE_VERSION
    const ids = isr.map(({ brokerId }) => brokerId)
    const isSound =
      new Set(ids).size === ids.length &&
      ids.every((id) => partition.replicas.includes(id)) &&
      ids.includes(partition.leader)
    if (!isSound) return ErrorCode.INVALID_REQUEST
    if (leaderRecoveryState !== RECOVERED && leaderRecoveryState !== RECOVERING) return ErrorCode.INVALID_REQUEST
    if (leaderRecoveryState === RECOVERING && (isr.length > 1 || partition.leaderRecoveryState === RECOVERED)) {
      return ErrorCode.INVALID_REQUEST
    }
    return isr.every((member) => this.#isEligible(member)) ? ErrorCode.NONE : ErrorCode.INELIGIBLE_REPLICA
  }

  #isEligible({ brokerId, brokerEpoch }: { readonly brokerId: number; readonly brokerEpoch: number }): boolean {
    const broker = this.#image.broker(brokerId)
    if (broker === undefined || broker.fenced || broker.inControlledShutdown) return false
    return brokerEpoch === -1 || brokerEpoch === broker.brokerEpoch
  }
}

function failed({ partitionIndex }: Wanted, errorCode: number): Result {
  return {
    partitionIndex,
    errorCode,
    leaderId: 0,
    leaderEpoch: 0,
    isr: [],
    leaderRecoveryState: RECOVERED,
    partitionEpoch: 0,
  }
}

function accepted({ partitionIndex }: Wanted, partition: PartitionImage): Result {
  const { leader, leaderEpoch, isr, leaderRecoveryState, partitionEpoch } = partition
  return {
    partitionIndex,
    errorCode: ErrorCode.NONE,
    leaderId: leader,
    leaderEpoch,
    isr,
    leaderRecoveryState,
    partitionEpoch,
  }
}

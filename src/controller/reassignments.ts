import type { MetadataImage, PartitionImage, TopicImage } from '../metadata/image.ts'
import { type MetadataRecord, partitionChange } from '../metadata/records.ts'
import type {
  AlterPartitionReassignmentsRequest,
  AlterPartitionReassignmentsResponse,
} from '../protocol/apis/alter-partition-reassignments.ts'
import type {
  ListPartitionReassignmentsRequest,
  ListPartitionReassignmentsResponse,
} from '../protocol/apis/list-partition-reassignments.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ACCEPTED, type Decision, type DecisionContext, type Notice, type Refusal, refusal } from './decision.ts'
import { topicsById } from './elections.ts'
import { copiesKept } from './internal-topics.ts'
import { changeOf, type PartitionTarget, type TopicRules } from './partition-change.ts'
import { manualAssignmentProblem } from './partition-records.ts'
import { TopicRulings } from './topic-rules.ts'
import { uncleanNotices } from './unclean-notices.ts'

type Wanted = AlterPartitionReassignmentsRequest['topics'][number]['partitions'][number]
type OngoingTopic = ListPartitionReassignmentsResponse['topics'][number]

/**
 * Moves partitions to other replicas (KIP-455). The new ones are added first; when all of them are in sync, the change of
 * the ISR that says so takes the old ones away. `replicas` null gives a move up. Each partition succeeds or fails on
 * its own. Versions 0 and 1; 1 can refuse to change the number of copies (KIP-860).
 */
export function alterReassignments(
  context: DecisionContext,
  request: AlterPartitionReassignmentsRequest,
): Decision<AlterPartitionReassignmentsResponse> {
  const { image } = context
  const { allowReplicationFactorChange, topics } = request
  const rulings = new TopicRulings(context)
  const records: MetadataRecord[] = []
  const notices: Notice[] = []
  const seen = new Set<string>()
  const responses = topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map((wanted) => {
      const { partitionIndex } = wanted
      const topic = image.topic(name)
      const partition = topic?.partitions[partitionIndex]
      if (topic === undefined || partition === undefined) return { partitionIndex, ...missing(topic, name, wanted) }
      // A second change would rest on a state that the first has ended.
      const key = `${partitionIndex}:${name}`
      if (seen.has(key)) return { partitionIndex, ...refusal(ErrorCode.INVALID_REQUEST, 'Duplicate partition.') }
      seen.add(key)
      const rules = rulings.of(topic)
      const target =
        tooFew(context, name, wanted) ??
        targetOf(image, topic, partition, wanted, { allowReplicationFactorChange, rules })
      if ('errorCode' in target) return { partitionIndex, ...target }
      const change = changeOf(partition, target, rules)
      if (change !== null) {
        records.push(partitionChange({ topicId: topic.topicId, partitionId: partitionIndex, ...change.fields }))
        notices.push(...uncleanNotices(name, partitionIndex, partition, change))
      }
      return { partitionIndex, ...ACCEPTED }
    }),
  }))
  const response = { throttleTimeMs: 0, allowReplicationFactorChange, ...ACCEPTED, responses }
  return { records, notices, response }
}

function missing(topic: TopicImage | undefined, name: string, { partitionIndex }: Wanted): Refusal {
  const message =
    topic === undefined
      ? `Unable to find a topic named ${name}.`
      : `Unable to find partition ${name}:${partitionIndex}.`
  return refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
}

/** It would be done, and undone by the rule that keeps internal topics at their copies: better to say so. */
function tooFew(context: DecisionContext, name: string, { replicas }: Wanted): Refusal | null {
  const kept = copiesKept(context, name)
  if (kept === null || replicas === null || replicas.length >= kept.copies) return null
  const message = `${name} is kept at ${kept.copies} copies by ${kept.setting}, and would get them again: lower that to have ${replicas.length}.`
  return refusal(ErrorCode.INVALID_REPLICATION_FACTOR, message)
}

interface Allowed {
  readonly allowReplicationFactorChange: boolean
  readonly rules: TopicRules
}

function targetOf(
  image: MetadataImage,
  topic: TopicImage,
  partition: PartitionImage,
  { partitionIndex, replicas }: Wanted,
  { allowReplicationFactorChange, rules }: Allowed,
): PartitionTarget | Refusal {
  if (replicas === null) return cancelled(`${topic.name}:${partitionIndex}`, partition, rules)
  const problem = manualAssignmentProblem(image, replicas, null)
  if (problem !== null) return refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
  const copies = copiesAfter(partition)
  if (!allowReplicationFactorChange && replicas.length !== copies) {
    const message = `The replication factor is changed from ${copies} to ${replicas.length}`
    return refusal(ErrorCode.INVALID_REPLICATION_FACTOR, message)
  }
  const removing = partition.replicas.filter((id) => !replicas.includes(id)).sort((a, b) => a - b)
  const adding = replicas.filter((id) => !partition.replicas.includes(id)).sort((a, b) => a - b)
  // One that a move in progress was adding is not in place yet; if it stays wanted, it is still to be waited for.
  const stillAdding = partition.addingReplicas.filter((id) => replicas.includes(id))
  return { replicas: [...replicas, ...removing], removing, adding: [...new Set([...adding, ...stillAdding])] }
}

/** How many copies there are once a move in progress is done. */
function copiesAfter({ replicas, removingReplicas }: PartitionImage): number {
  return replicas.filter((id) => !removingReplicas.includes(id)).length
}

/** Back to the replicas from before. If only new ones are in sync, that would lose what they alone have. */
function cancelled(name: string, partition: PartitionImage, rules: TopicRules): PartitionTarget | Refusal {
  const { replicas, addingReplicas, removingReplicas, isr } = partition
  if (addingReplicas.length === 0 && removingReplicas.length === 0) {
    return refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, 'No partition reassignment is in progress.')
  }
  const before = replicas.filter((id) => !addingReplicas.includes(id))
  const stayingIsr = isr.filter((id) => !addingReplicas.includes(id))
  const stayingElr = partition.elr.filter((id) => !addingReplicas.includes(id))
  const target = { replicas: before, adding: [], removing: [] }
  if (stayingIsr.length > 0 || stayingElr.length > 0) return { ...target, isr: stayingIsr }
  if (!rules.unclean) {
    const message = `Unable to revert partition assignment for ${name} because it would require an unclean leader election.`
    return refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
  }
  return { ...target, isr: [], lost: isr, election: 'unclean' }
}

/** What is being moved: everywhere, or of the partitions that are named. */
export function listReassignments(
  context: DecisionContext,
  { topics }: ListPartitionReassignmentsRequest,
): Decision<ListPartitionReassignmentsResponse> {
  const { image } = context
  const asked =
    topics === null
      ? topicsById(context, image.topicIndex.reassigning).map((topic) => ongoing(topic, [...topic.partitions.keys()]))
      : topics.flatMap(({ name, partitionIndexes }) => {
          const topic = image.topic(name)
          return topic === undefined ? [] : [ongoing(topic, partitionIndexes)]
        })
  const shown = asked.filter(({ partitions }) => partitions.length > 0)
  return { records: [], response: { throttleTimeMs: 0, ...ACCEPTED, topics: shown } }
}

function ongoing({ name, partitions }: TopicImage, indexes: readonly number[]): OngoingTopic {
  const moving = indexes.flatMap((partitionIndex) => {
    const partition = partitions[partitionIndex]
    if (partition === undefined) return []
    const { replicas, addingReplicas, removingReplicas } = partition
    if (addingReplicas.length === 0 && removingReplicas.length === 0) return []
    return [{ partitionIndex, replicas, addingReplicas, removingReplicas }]
  })
  return { name, partitions: moving }
}

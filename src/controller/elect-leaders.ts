import type { MetadataImage, PartitionImage, TopicImage } from '../metadata/image.ts'
import { type MetadataRecord, NO_LEADER, partitionChange } from '../metadata/records.ts'
import type { ElectLeadersRequest, ElectLeadersResponse } from '../protocol/apis/elect-leaders.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ACCEPTED, type Decision, type DecisionContext, type Notice, type Refusal, refusal } from './decision.ts'
import { changeOf, mayHaveLost } from './partition-change.ts'
import { TopicRulings } from './topic-rules.ts'
import { uncleanMeaning, uncleanNotices } from './unclean-notices.ts'

const PREFERRED = 0
const UNCLEAN = 1

/**
 * Preferred: gives leadership to the first replica. Unclean: only where there is no leader; the answer to one that was
 * not in sync says in words what that means, though its code is that of success.
 */
export function electLeaders(context: DecisionContext, request: ElectLeadersRequest): Decision<ElectLeadersResponse> {
  const { image } = context
  const { electionType } = request
  if (request.topicPartitions?.length === 0) return { records: [], response: answer(ErrorCode.NONE, []) }
  if (electionType !== PREFERRED && electionType !== UNCLEAN) {
    const why = refusal(ErrorCode.INVALID_REQUEST, `Unknown election type ${electionType}`)
    const results = (request.topicPartitions ?? []).map(({ topic, partitions }) => {
      return { topic, partitionResult: partitions.map((partitionId) => ({ partitionId, ...why })) }
    })
    return { records: [], response: answer(ErrorCode.INVALID_REQUEST, results) }
  }
  const draft: Draft = { rulings: new TopicRulings(context), records: [], notices: [] }
  const results = wantedPartitions(image, request).map(({ topic, partitions }) => {
    const partitionResult = partitions.map((partitionId) => {
      const found = image.topic(topic)
      const partition = found?.partitions[partitionId]
      if (found === undefined || partition === undefined) {
        const message =
          found === undefined ? `No such topic as ${topic}` : `No such partition as ${topic}-${partitionId}`
        return { partitionId, ...refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message) }
      }
      return { partitionId, ...elect(draft, found, partitionId, partition, electionType) }
    })
    return { topic, partitionResult }
  })
  // Asked for all, a client wants to hear only of those for which something was to be done.
  const shown = request.topicPartitions === null ? withoutIdle(results) : results
  const { records, notices } = draft
  return { records, notices, response: answer(ErrorCode.NONE, shown) }
}

interface Draft {
  readonly rulings: TopicRulings
  readonly records: MetadataRecord[]
  readonly notices: Notice[]
}

type Results = ElectLeadersResponse['replicaElectionResults']

function answer(errorCode: number, replicaElectionResults: Results): ElectLeadersResponse {
  return { throttleTimeMs: 0, errorCode, replicaElectionResults }
}

function withoutIdle(results: Results): Results {
  return results.map(({ topic, partitionResult }) => ({
    topic,
    partitionResult: partitionResult.filter(({ errorCode }) => errorCode !== ErrorCode.ELECTION_NOT_NEEDED),
  }))
}

function wantedPartitions(image: MetadataImage, { topicPartitions }: ElectLeadersRequest) {
  if (topicPartitions !== null) return topicPartitions
  return image.topicsByName
    .sorted()
    .map(({ name, partitions }) => ({ topic: name, partitions: [...partitions.keys()] }))
}

function elect(
  { rulings, records, notices }: Draft,
  topic: TopicImage,
  partitionId: number,
  partition: PartitionImage,
  electionType: number,
): Refusal {
  const isPreferred = electionType === PREFERRED
  if (isPreferred ? partition.leader === partition.replicas[0] : partition.leader !== NO_LEADER) {
    return refusal(ErrorCode.ELECTION_NOT_NEEDED)
  }
  const change = changeOf(partition, { election: isPreferred ? 'preferred' : 'unclean' }, rulings.of(topic))
  if (change === null || change.election === null || (isPreferred && change.fields.leader !== partition.replicas[0])) {
    return refusal(isPreferred ? ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE : ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
  }
  records.push(partitionChange({ topicId: topic.topicId, partitionId, ...change.fields }))
  notices.push(...uncleanNotices(topic.name, partitionId, partition, change))
  if (!mayHaveLost(change.election)) return ACCEPTED
  return { ...ACCEPTED, errorMessage: uncleanMeaning(`${topic.name}-${partitionId}`, partition, change) }
}

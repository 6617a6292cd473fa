import type { MetadataImage, PartitionImage } from '../metadata/image.ts'
import { type MetadataRecord, NO_LEADER, partitionChange } from '../metadata/records.ts'
import type { ElectLeadersRequest, ElectLeadersResponse } from '../protocol/apis/elect-leaders.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ACCEPTED, type Decision, type DecisionContext, type Refusal, refusal } from './decision.ts'
import { electLeader } from './elections.ts'
import { isActive } from './partition-records.ts'

const PREFERRED = 0
const UNCLEAN = 1

/** Preferred: gives leadership to the first replica. Unclean: only where there is no leader, and none in sync. */
export function electLeaders(context: DecisionContext, request: ElectLeadersRequest): Decision<ElectLeadersResponse> {
  const { image } = context
  const { electionType } = request
  if (electionType !== PREFERRED && electionType !== UNCLEAN) {
    return { records: [], response: answer(ErrorCode.INVALID_REQUEST, []) }
  }
  const records: MetadataRecord[] = []
  const results = wantedPartitions(image, request).map(({ topic, partitions }) => {
    const partitionResult = partitions.map((partitionId) => {
      const found = image.topic(topic)
      const partition = found?.partitions[partitionId]
      if (found === undefined || partition === undefined) {
        const message =
          found === undefined ? `No such topic as ${topic}` : `No such partition as ${topic}-${partitionId}`
        return { partitionId, ...refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message) }
      }
      const elected = electionType === PREFERRED ? preferred(image, partition) : unclean(image, partition)
      if ('errorCode' in elected) return { partitionId, ...elected }
      records.push(partitionChange({ topicId: found.topicId, partitionId, ...elected }))
      return { partitionId, ...ACCEPTED }
    })
    return { topic, partitionResult }
  })
  // Asked for all, a client wants to hear only of those for which something was to be done.
  const shown = request.topicPartitions === null ? withoutIdle(results) : results
  return { records, response: answer(ErrorCode.NONE, shown) }
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

type Elected = { readonly leader: number; readonly isr?: readonly number[]; readonly leaderRecoveryState?: number }

function preferred(image: MetadataImage, partition: PartitionImage): Elected | Refusal {
  const wanted = partition.replicas[0]
  if (partition.leader === wanted) return refusal(ErrorCode.ELECTION_NOT_NEEDED)
  const leader = electLeader(partition, (id) => id === wanted && isActive(image, id))
  return leader === NO_LEADER ? refusal(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE) : { leader }
}

function unclean(image: MetadataImage, partition: PartitionImage): Elected | Refusal {
  if (partition.leader !== NO_LEADER) return refusal(ErrorCode.ELECTION_NOT_NEEDED)
  const inSync = electLeader(partition, (id) => isActive(image, id))
  if (inSync !== NO_LEADER) return { leader: inSync }
  const leader = partition.replicas.find((id) => isActive(image, id))
  if (leader === undefined) return refusal(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
  // Acknowledged records may be gone: it says so until the leader has recovered (KIP-704).
  return { leader, isr: [leader], leaderRecoveryState: 1 }
}

import { NO_TOPIC_ID } from '../../model/ids.ts'
import {
  DescribeQuorum,
  type DescribeQuorumRequest,
  type DescribeQuorumResponse,
} from '../../protocol/apis/describe-quorum.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'

/** Directory ids and the endpoints of the voters (KIP-853). */
const DIRECTORIES_VERSION = 2

/** Served from 0 to 2. */
export function describeQuorum(describe: (request: DescribeQuorumRequest) => DescribeQuorumResponse): ServedApi {
  return serve(DescribeQuorum, (request, call) => describedIn(call.version, describe(request)))
}

/** What that version can say of it. */
export function describedIn(version: number, response: DescribeQuorumResponse): DescribeQuorumResponse {
  return version >= DIRECTORIES_VERSION ? response : withoutDirectories(response)
}

type Replicas = DescribeQuorumResponse['topics'][number]['partitions'][number]['currentVoters']

function withoutDirectories(response: DescribeQuorumResponse): DescribeQuorumResponse {
  const plain = (replicas: Replicas) => replicas.map((replica) => ({ ...replica, replicaDirectoryId: NO_TOPIC_ID }))
  const topics = response.topics.map((topic) => ({
    ...topic,
    partitions: topic.partitions.map((partition) => ({
      ...partition,
      currentVoters: plain(partition.currentVoters),
      observers: plain(partition.observers),
    })),
  }))
  return { ...response, topics, nodes: [] }
}

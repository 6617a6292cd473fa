import type { Address } from '../env/net.ts'
import type { FollowerLog } from '../partition/follower-types.ts'
import { ListOffsets } from '../protocol/apis/list-offsets.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ClientError } from '../rpc/errors.ts'
import type { Peers } from '../rpc/peers.ts'
import type { Followed } from './followed.ts'

const LATEST = -1
const EARLIEST = -2
/** By name, with the follower's leader epoch, and to the end of the log for a replica. */
const VERSIONS: readonly [number, number] = [4, 11]
const ANSWER_MS_MAX = 5000

/** Where the leader's log begins and ends, for a follower that is outside of it; null when it does not say. */
export async function askOffsets(
  peers: Peers,
  leader: Address,
  { nodeId, followed }: { readonly nodeId: number; readonly followed: Followed },
): Promise<FollowerLog | null> {
  const { topic, partition: partitionIndex } = followed.partition.topicPartition
  const currentLeaderEpoch = followed.machine.leaderEpoch
  const ask = async (timestamp: number) => {
    const topics = [{ name: topic, partitions: [{ partitionIndex, currentLeaderEpoch, timestamp }] }]
    const body = { replicaId: nodeId, isolationLevel: 0, topics, timeoutMs: ANSWER_MS_MAX }
    const answer = await peers.request(leader, 'control', ListOffsets, body, { versions: VERSIONS })
    const told = answer.topics[0]?.partitions[0]
    return told?.errorCode === ErrorCode.NONE && told.offset >= 0 ? told.offset : null
  }
  try {
    // The end first: then it is never before the start.
    const endOffset = await ask(LATEST)
    const startOffset = await ask(EARLIEST)
    return endOffset === null || startOffset === null ? null : { startOffset, endOffset }
  } catch (error) {
    if (error instanceof ClientError) return null
    throw error
  }
}

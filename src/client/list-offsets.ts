import type { TopicPartition } from '../model/ids.ts'
import { ListOffsets } from '../protocol/apis/list-offsets.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Client } from './client.ts'
import { BrokerError } from '../rpc/errors.ts'
import { byTopic, PartitionMap } from './topic-partitions.ts'

/** A time in milliseconds since 1970, or an end of the log; `max-timestamp` is the record with the largest time. */
export type OffsetAt = number | 'earliest' | 'latest' | 'max-timestamp'

export interface ListedOffset {
  /** -1: there is no record at or after the time. */
  readonly offset: number
  readonly timestampMs: number
  readonly leaderEpoch: number
}

const SPECIAL = { latest: -1, earliest: -2, 'max-timestamp': -3 }
/** From this version the record with the largest time can be asked for (KIP-734). */
const MAX_TIMESTAMP_VERSION = 7

/** Asks the leaders. Tries again while leaders move; rejects with a `ClientError`. */
export async function listOffsets(
  client: Client,
  wanted: readonly (TopicPartition & { readonly at: OffsetAt })[],
  { readCommitted = false, timeoutMs }: { readCommitted?: boolean; timeoutMs?: number } = {},
): Promise<PartitionMap<ListedOffset>> {
  const found = new PartitionMap<ListedOffset>()
  await client.retry(
    'ListOffsets',
    async () => {
      const missing = wanted.filter((one) => !found.has(one))
      const leaders = await Promise.all(missing.map(({ topic, partition }) => client.leaderOf(topic, partition)))
      const byNode = new Map<number, (TopicPartition & { at: OffsetAt; leaderEpoch: number })[]>()
      for (const [index, one] of missing.entries()) {
        const { nodeId, leaderEpoch } = leaders[index] as { nodeId: number; leaderEpoch: number }
        byNode.set(nodeId, [...(byNode.get(nodeId) ?? []), { ...one, leaderEpoch }])
      }
      await Promise.all([...byNode].map(([nodeId, asked]) => askNode(client, nodeId, asked, readCommitted, found)))
    },
    timeoutMs,
  )
  return found
}

async function askNode(
  client: Client,
  nodeId: number,
  asked: readonly (TopicPartition & { readonly at: OffsetAt; readonly leaderEpoch: number })[],
  readCommitted: boolean,
  found: PartitionMap<ListedOffset>,
): Promise<void> {
  const needsMaxTimestamp = asked.some(({ at }) => at === 'max-timestamp')
  const topics = byTopic(asked).map(([name, partitions]) => ({
    name,
    partitions: partitions.map(({ partition, at, leaderEpoch }) => ({
      partitionIndex: partition,
      currentLeaderEpoch: leaderEpoch,
      timestamp: typeof at === 'number' ? at : SPECIAL[at],
    })),
  }))
  const response = await client.request(
    nodeId,
    ListOffsets,
    (version) => ({ replicaId: -1, topics, ...(version >= 2 ? { isolationLevel: readCommitted ? 1 : 0 } : {}) }),
    needsMaxTimestamp ? { versions: [MAX_TIMESTAMP_VERSION, ListOffsets.versions[1]] } : {},
  )
  let failure: BrokerError | null = null
  for (const { name, partitions } of response.topics) {
    for (const { partitionIndex, errorCode, offset, timestamp, leaderEpoch } of partitions) {
      if (errorCode === ErrorCode.NONE) {
        found.set({ topic: name, partition: partitionIndex }, { offset, timestampMs: timestamp, leaderEpoch })
      } else failure = new BrokerError(errorCode, `offsets of ${name}-${partitionIndex}`)
    }
  }
  if (failure !== null) {
    client.forget()
    throw failure
  }
}

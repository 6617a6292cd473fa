import { assert } from '../../base/assert.ts'
import { Fetch } from '../../protocol/apis/fetch.ts'
import { ErrorCode, isRetriable } from '../../protocol/errors.ts'
import type { History } from '../history/history.ts'
import type { ClusterClient } from './cluster-client.ts'
import { unexpected } from './fetching.ts'
import { receivedRecords } from './received.ts'

/** Since then a follower may be asked (KIP-392). */
const FOLLOWER_VERSION = 11
const MAX_WAIT_MS = 100

/**
 * Reads a partition from its first offset on and never stops, from whichever of its replicas it pleases, as a consumer does
 * that reads near by and moves. It was given what lies before its position, so that is never out of range.
 */
export async function readFromReplicas(
  client: ClusterClient,
  history: History,
  place: { name: string; topic: string; partition: number },
): Promise<never> {
  const { name, topic, partition } = place
  let position = 0
  for (let continues = false; ; ) {
    const from = position
    const fetched = await client.persist(() => fetchFromAny(client, { topic, partition, from }))
    position = fetched.to
    if (position === from) continue
    const { records, to } = fetched
    history.read({ consumer: name, group: null, partition: `${topic}-${partition}`, from, to, records, continues })
    continues = true
  }
}

async function fetchFromAny(client: ClusterClient, place: { topic: string; partition: number; from: number }) {
  const { topic, partition, from } = place
  const { topicId, replicas } = await client.topic(topic)
  const node = client.random.pick(replicas[partition] ?? [])
  const wire = await client.wireToNode(node)
  const epoch = client.random.chance(0.5) ? -1 : (client.demandedEpoch(topic, partition) ?? -1)
  const partitions = [{ partition, fetchOffset: from, partitionMaxBytes: 1 << 20, currentLeaderEpoch: epoch }]
  const body = {
    maxWaitMs: MAX_WAIT_MS,
    minBytes: 1,
    topics: [{ topic, topicId, partitions }],
    forgottenTopicsData: [],
  }
  const answer = await wire.request(Fetch, body, { fromVersion: FOLLOWER_VERSION })
  const result = answer.responses[0]?.partitions[0]
  if (result === undefined || result.errorCode !== 0) {
    const errorCode = result?.errorCode ?? answer.errorCode
    assert(
      errorCode !== ErrorCode.OFFSET_OUT_OF_RANGE,
      `H9: node ${node} calls ${from} of ${topic}-${partition} out of range`,
    )
    if (!isRetriable(errorCode)) throw unexpected(`fetch of ${topic}-${partition} from node ${node}`, errorCode)
    client.forget(topic)
    return null
  }
  return receivedRecords(Buffer.concat(result.records ?? []), from)
}

import { Fetch } from '../../protocol/apis/fetch.ts'
import { ListOffsets } from '../../protocol/apis/list-offsets.ts'
import { ErrorCode, errorName, isRetriable } from '../../protocol/errors.ts'
import type { History } from '../history/history.ts'
import { AnswerError, type ClusterClient } from './cluster-client.ts'
import { type ReceivedRecord, receivedRecords } from './received.ts'

/** Asks ListOffsets for the earliest, or for the end. */
export const EARLIEST = -2
export const LATEST = -1

export interface FetchedRecords {
  readonly records: readonly ReceivedRecord[]
  /** Where to go on. */
  readonly to: number
  readonly logStartOffset: number
  readonly highWatermark: number
}

/**
 * One fetch of one partition; null where it has to be repeated. Throws `AnswerError` for anything a fetch of what was read
 * or told before must not be answered with. What it tells about the partition's bounds goes into the
 * history.
 */
export async function fetchOnce(
  client: ClusterClient,
  history: History,
  place: { topic: string; partition: number; from: number; maxWaitMs: number },
): Promise<FetchedRecords | null> {
  const { topic, partition, from, maxWaitMs } = place
  const { topicId } = await client.topic(topic)
  const invoked = history.moment()
  let epoch: number | null = null
  const answer = await client.tolerate(async () => {
    const wire = await client.leaderOf(topic, partition)
    epoch = client.demandedEpoch(topic, partition)
    const partitionMaxBytes = client.random.pick([1, 2000, 1 << 20])
    const partitions = [{ partition, fetchOffset: from, partitionMaxBytes, currentLeaderEpoch: epoch ?? -1 }]
    const topics = [{ topic, topicId, partitions }]
    const body = { maxWaitMs, minBytes: 1, topics, forgottenTopicsData: [] }
    return wire.request(Fetch, body, { fromVersion: epoch === null ? 0 : FETCH_EPOCH_VERSION })
  })
  const result = answer?.responses[0]?.partitions[0]
  if (result === undefined) {
    client.forget(topic)
    return null
  }
  const { errorCode, logStartOffset, highWatermark } = result
  if (errorCode !== 0) {
    if (!isRetriable(errorCode)) throw new AnswerError(`fetch of ${topic}-${partition} from ${from}`, errorCode)
    client.forget(topic)
    return null
  }
  history.bounds.push({
    source: 'fetch',
    partition: `${topic}-${partition}`,
    start: logStartOffset < 0 ? null : logStartOffset,
    end: highWatermark < 0 ? null : highWatermark,
    epoch,
    wallMs: client.env.clock.wallMs(),
    invoked,
    completed: history.moment(),
  })
  const { records, to } = receivedRecords(Buffer.concat(result.records ?? []), from)
  return { records, to, logStartOffset, highWatermark }
}

/** The first versions in which a client says which leader epoch it means. */
const FETCH_EPOCH_VERSION = 9
const LIST_EPOCH_VERSION = 4

/** The offset that `timestamp` stands for; null where it has to be asked for again. */
export async function listOffset(
  client: ClusterClient,
  place: { topic: string; partition: number; timestamp: number },
): Promise<{ offset: number; epoch: number | null } | null> {
  const { topic, partition, timestamp } = place
  const wire = await client.leaderOf(topic, partition)
  const epoch = client.demandedEpoch(topic, partition)
  const partitions = [{ partitionIndex: partition, timestamp, currentLeaderEpoch: epoch ?? -1 }]
  const body = { replicaId: -1, topics: [{ name: topic, partitions }] }
  const answer = await wire.request(ListOffsets, body, { fromVersion: epoch === null ? 0 : LIST_EPOCH_VERSION })
  const result = answer.topics[0]?.partitions[0]
  if (result === undefined) throw new Error(`ListOffsets without ${topic}-${partition}`)
  if (result.errorCode === 0) return { offset: result.offset, epoch }
  if (!isRetriable(result.errorCode)) throw new AnswerError('ListOffsets', result.errorCode)
  client.forget(topic)
  return null
}

/** Asks for the first record at or after a time, and records the answer. */
export async function lookUpTime(
  client: ClusterClient,
  history: History,
  place: { topic: string; partition: number; timestampMs: number },
): Promise<void> {
  const { topic, partition, timestampMs } = place
  const invoked = history.moment()
  const told = await client.tolerate(() => listOffset(client, { topic, partition, timestamp: timestampMs }))
  if (told === null) return
  const { epoch } = told
  const offset = told.offset < 0 ? null : told.offset
  history.timeAnswers.push({ partition: `${topic}-${partition}`, timestampMs, offset, epoch, invoked })
}

/** Asks for the end of the partition, and records the answer. */
export async function lookUpEnd(
  client: ClusterClient,
  history: History,
  { topic, partition }: { topic: string; partition: number },
): Promise<void> {
  const invoked = history.moment()
  const told = await client.tolerate(() => listOffset(client, { topic, partition, timestamp: LATEST }))
  if (told === null) return
  const { offset: end, epoch } = told
  const [wallMs, completed] = [client.env.clock.wallMs(), history.moment()]
  const name = `${topic}-${partition}`
  history.bounds.push({ source: 'list', partition: name, start: null, end, epoch, wallMs, invoked, completed })
}

/** Everything in the partition, from its first offset to its end as they are now. */
export async function readWhole(
  client: ClusterClient,
  history: History,
  { topic, partition }: { topic: string; partition: number },
): Promise<void> {
  const { offset: start } = await client.persist(() => listOffset(client, { topic, partition, timestamp: EARLIEST }))
  const { offset: end } = await client.persist(() => listOffset(client, { topic, partition, timestamp: LATEST }))
  const records: ReceivedRecord[] = []
  let position = start
  while (position < end) {
    const from = position
    const fetched = await client.persist(() => fetchOnce(client, history, { topic, partition, from, maxWaitMs: 100 }))
    records.push(...fetched.records)
    position = fetched.to
  }
  history.finalReads.push({ partition: `${topic}-${partition}`, start, end, records })
}

/** Reads the partition from its first offset on, and never stops. */
export async function readOn(
  client: ClusterClient,
  history: History,
  { name, topic, partition }: { name: string; topic: string; partition: number },
): Promise<never> {
  const first = await client.persist(() => listOffset(client, { topic, partition, timestamp: EARLIEST }))
  let position = first.offset
  for (let continues = false; ; ) {
    const from = position
    const fetched = await client.persist(() => fetchOnce(client, history, { topic, partition, from, maxWaitMs: 100 }))
    const { records, to } = fetched
    position = to
    if (to === from) continue
    history.read({ consumer: name, group: null, partition: `${topic}-${partition}`, from, to, records, continues })
    continues = true
  }
}

/** Also worth another try for a group's requests. */
export function isCoordinatorTrouble(errorCode: number): boolean {
  return (
    errorCode === ErrorCode.COORDINATOR_NOT_AVAILABLE ||
    errorCode === ErrorCode.COORDINATOR_LOAD_IN_PROGRESS ||
    errorCode === ErrorCode.NOT_COORDINATOR
  )
}

export function unexpected(what: string, errorCode: number): Error {
  return new Error(`${what} was answered with ${errorName(errorCode)}`)
}

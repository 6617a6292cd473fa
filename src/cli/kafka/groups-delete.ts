import { BrokerError } from '../../rpc/errors.ts'
import type { TopicPartition } from '../../model/ids.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { Session } from '../connect.ts'
import type { Flags } from './flags.ts'
import { partitionsOfTopics } from './groups-topics.ts'
import { exceptionOf, hashOfText, inHashOrder, messageOf, padded } from './java.ts'
import { out } from './tool.ts'

/** kafka-consumer-groups --delete. */
export async function deleteGroups({ admin }: Session, groupIds: readonly string[]): Promise<void> {
  const results = inHashOrder(await admin.groups.delete(groupIds), ({ groupId }) => hashOfText(groupId))
  const failed = results.flatMap(({ groupId, error }) => (error === null ? [] : [{ groupId, error }]))
  const done = results
    .filter(({ error }) => error === null)
    .map(({ groupId }) => `'${groupId}'`)
    .join(', ')
  if (failed.length === 0) return out(`Deletion of requested consumer groups (${done}) was successful.\n`)
  const lines = failed.map(
    ({ groupId, error }) => `* Group '${groupId}' could not be deleted due to: ${exceptionOf(error, { byCode: true })}`,
  )
  await out(`\nError: Deletion of some consumer groups failed:\n${lines.join('\n')}\n`)
  if (done !== '') await out(`\nThese consumer groups were deleted successfully: ${done}\n`)
}

interface Status extends TopicPartition {
  readonly error: BrokerError | null
}

const WIDTHS = [15, 10, 15]

/** kafka-consumer-groups --delete-offsets. */
export async function deleteOffsets({ admin }: Session, flags: Flags): Promise<void> {
  const groupId = flags.value('group') ?? ''
  const { partitions, missing } = await partitionsOfTopics(admin, flags.values('topic'))
  const { whole, statuses } = await removeAll(admin, groupId, partitions)
  const absent = missing.map((topic) => ({
    topic,
    partition: -1,
    error: new BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic),
  }))
  await out(
    whole === null
      ? `Request succeeded for deleting offsets from group ${groupId}.\n`
      : `\nError: ${isPartitionLevel(whole) ? 'Encountered some partition-level error, see the follow-up details.' : messageOf(whole)}\n`,
  )
  const rows = [...statuses, ...absent]
    .toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1))
    .map(({ topic, partition, error }) => [
      topic,
      partition < 0 ? '-' : partition,
      error === null ? 'Successful' : `Error: ${exceptionOf(error)}`,
    ])
  await out(`${[['TOPIC', 'PARTITION', 'STATUS'], ...rows].map((row) => `\n${padded(WIDTHS, row)}`).join('')}\n`)
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}${partition}`
}

/** What one partition met counts as the outcome of the whole, where there is such a partition. */
async function removeAll(
  admin: Session['admin'],
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<{ whole: BrokerError | null; statuses: Status[] }> {
  try {
    const results = partitions.length === 0 ? null : await admin.groups.deleteOffsets(groupId, partitions)
    const statuses = partitions.map((one) => ({ ...one, error: results?.get(one) ?? null }))
    return { whole: statuses.find(({ error }) => error !== null)?.error ?? null, statuses }
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error
    return { whole: error, statuses: partitions.map((one) => ({ ...one, error })) }
  }
}

function isPartitionLevel({ errorCode }: BrokerError): boolean {
  return errorCode === ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC || errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
}

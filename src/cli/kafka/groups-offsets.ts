import type { Admin } from '../../client/admin.ts'
import type { ListedOffset, OffsetAt } from '../../client/list-offsets.ts'
import type { PartitionMap } from '../../client/topic-partitions.ts'
import type { TopicPartition } from '../../model/ids.ts'
import { hashOfPartition, inHashOrder } from './java.ts'
import { CommandFailure, out, usage } from './tool.ts'

export interface NewOffset extends TopicPartition {
  readonly offset: number
}

/** Refuses partitions that are not there. */
async function offsetsAt(
  admin: Admin,
  partitions: readonly TopicPartition[],
  at: OffsetAt,
): Promise<PartitionMap<ListedOffset>> {
  const known = await admin.listTopics({ internal: true })
  const isThere = ({ topic, partition }: TopicPartition) =>
    known.some(({ name, partitions: own }) => name === topic && partition >= 0 && partition < own.length)
  const missing = partitions.filter((one) => !isThere(one)).map(({ topic, partition }) => `${topic}-${partition}`)
  if (missing.length > 0) throw new CommandFailure(`The partitions "${missing.join(', ')}" do not exist`)
  return admin.listOffsets(partitions.map((one) => ({ ...one, at })))
}

export async function atEdge(
  admin: Admin,
  partitions: readonly TopicPartition[],
  edge: 'earliest' | 'latest',
): Promise<NewOffset[]> {
  const offsets = await offsetsAt(admin, partitions, edge)
  return partitions.map(({ topic, partition }) => ({
    topic,
    partition,
    offset: offsets.get({ topic, partition })?.offset ?? 0,
  }))
}

/** No further than the logs go. */
export async function within(admin: Admin, wanted: readonly NewOffset[]): Promise<NewOffset[]> {
  const [starts, ends] = [await offsetsAt(admin, wanted, 'earliest'), await offsetsAt(admin, wanted, 'latest')]
  return wanted.map(({ topic, partition, offset }) => {
    const start = starts.get({ topic, partition })?.offset ?? 0
    const end = ends.get({ topic, partition })?.offset ?? 0
    return { topic, partition, offset: Math.max(start, Math.min(offset, end)) }
  })
}

export async function shifted(
  admin: Admin,
  groupId: string,
  partitions: readonly TopicPartition[],
  by: number,
): Promise<NewOffset[]> {
  const committed = await admin.groups.offsets(groupId)
  const wanted = partitions.map((one) => {
    const current = committed.get(one)
    const { topic, partition } = one
    if (current === undefined)
      throw usage(`Cannot shift offset for partition ${topic}-${partition} since there is no current committed offset`)
    return { topic, partition, offset: current.offset + by }
  })
  return within(admin, wanted)
}

/** Where nothing is that new, the end. */
export async function atTime(
  admin: Admin,
  partitions: readonly TopicPartition[],
  timestampMs: number,
): Promise<NewOffset[]> {
  const found = await offsetsAt(admin, partitions, timestampMs)
  const late = partitions.filter((one) => (found.get(one)?.offset ?? -1) < 0)
  for (const { topic, partition } of inHashOrder(late, hashOfPartition))
    await out(`\nWarn: Partition ${partition} from topic ${topic} is empty. Falling back to latest known offset.\n`)
  const ends = late.length === 0 ? null : await offsetsAt(admin, late, 'latest')
  return partitions.map(({ topic, partition }) => {
    const one = { topic, partition }
    return { ...one, offset: (ends?.get(one) ?? found.get(one))?.offset ?? 0 }
  })
}

/** Where the group has no offset, the end. */
export async function atCurrent(
  admin: Admin,
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<NewOffset[]> {
  const committed = await admin.groups.offsets(groupId)
  const fresh = partitions.filter((one) => !committed.has(one))
  const ends = fresh.length === 0 ? null : await offsetsAt(admin, fresh, 'latest')
  return partitions.map(({ topic, partition }) => {
    const one = { topic, partition }
    return { ...one, offset: committed.get(one)?.offset ?? ends?.get(one)?.offset ?? 0 }
  })
}

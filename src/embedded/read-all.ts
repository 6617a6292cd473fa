import type { ConsumerRecord } from '../client/fetched-records.ts'
import { PartitionMap } from '../client/topic-partitions.ts'
import type { TopicPartition } from '../model/ids.ts'
import { type Admin, Consumer } from './client.ts'

/** How long one poll waits: all that is asked for is there. */
const POLL_MS = 1000

/** The records that a topic has now, partition by partition; none where there is no such topic. */
export async function readAll(servers: string, admin: Admin, topic: string): Promise<ConsumerRecord[]> {
  const partitions = await partitionsOf(admin, topic)
  const records = await readTo(servers, partitions, await endsOf(admin, partitions))
  return partitions.flatMap((partition) => records.get(partition) ?? [])
}

/** Another number whenever records were added. */
export async function countEver(admin: Admin, topic: string): Promise<number> {
  const partitions = await partitionsOf(admin, topic)
  const ends = await admin.listOffsets(partitions.map((partition) => ({ ...partition, at: 'latest' })))
  return ends.values().reduce((sum, { offset }) => sum + offset, 0)
}

async function partitionsOf(admin: Admin, topic: string): Promise<TopicPartition[]> {
  const found = (await admin.listTopics({ internal: true })).find(({ name }) => name === topic)
  return (found?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
}

/** Where there is something to read, and up to where. */
async function endsOf(admin: Admin, partitions: readonly TopicPartition[]): Promise<PartitionMap<number>> {
  if (partitions.length === 0) return new PartitionMap()
  const at = (at: 'earliest' | 'latest') => admin.listOffsets(partitions.map((partition) => ({ ...partition, at })))
  const [starts, ends] = await Promise.all([at('earliest'), at('latest')])
  const filled = partitions.filter((one) => (starts.get(one)?.offset ?? 0) < (ends.get(one)?.offset ?? 0))
  return new PartitionMap(filled.map((one) => [one, ends.get(one)?.offset ?? 0] as const))
}

async function readTo(
  servers: string,
  partitions: readonly TopicPartition[],
  ends: PartitionMap<number>,
): Promise<PartitionMap<ConsumerRecord[]>> {
  const records = new PartitionMap<ConsumerRecord[]>(partitions.map((one) => [one, []] as const))
  const left = ends.keys()
  if (left.length === 0) return records
  await using consumer = new Consumer(servers, { autoOffsetReset: 'earliest' })
  consumer.assign(left)
  while (left.some((one) => (consumer.position(one) ?? 0) < (ends.get(one) ?? 0))) {
    for (const record of await consumer.poll(POLL_MS)) {
      if (record.offset < (ends.get(record) ?? 0)) records.get(record)?.push(record)
    }
  }
  return records
}

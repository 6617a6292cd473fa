import type { Client } from '../../client/client.ts'
import { Consumer } from '../../client/consumer.ts'
import { PartitionMap } from '../../client/topic-partitions.ts'
import type { TopicPartition } from '../../model/ids.ts'

const WAIT_MS = 5_000

/** The time of the first record at or after each offset, as far as it can be read within a few seconds. */
export async function firstTimes(
  client: Client,
  wanted: readonly (TopicPartition & { readonly offset: number })[],
): Promise<PartitionMap<number>> {
  const found = new PartitionMap<number>()
  if (wanted.length === 0) return found
  const consumer = new Consumer(client, { autoOffsetReset: 'earliest', autoCommit: false, partitionBytes: 1 })
  try {
    consumer.assign(wanted.map(({ topic, partition }) => ({ topic, partition })))
    for (const { offset, ...partition } of wanted) consumer.seek(partition, offset)
    const deadlineMs = client.env.clock.monotonicMs() + WAIT_MS
    while (found.size < wanted.length && client.env.clock.monotonicMs() < deadlineMs) {
      for (const record of await consumer.poll(500)) {
        if (found.has(record)) continue
        found.set(record, record.timestampMs)
        consumer.pause([record])
      }
    }
  } finally {
    await consumer.close()
  }
  return found
}

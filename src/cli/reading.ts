import type { Consumer } from '../client/consumer.ts'
import type { ConsumerRecord } from '../client/fetched-records.ts'
import { PartitionMap } from '../client/topic-partitions.ts'

/** What was fetched but not printed is not consumed: a group must not lose it. */
export function giveBack(consumer: Consumer, records: readonly ConsumerRecord[]): void {
  const firsts = new PartitionMap<number>()
  for (const record of records) if (!firsts.has(record)) firsts.set(record, record.offset)
  for (const [partition, offset] of firsts.entries()) consumer.seek(partition, offset)
}

/** Ctrl-C ends the reading, and what was printed is committed; a second one ends at once. */
export function stopSignal(): { readonly isSet: boolean } {
  const stop = { isSet: false }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stop.isSet = true
    })
  }
  return stop
}

import type { PartitionImage } from '../metadata/image.ts'
import type { Notice } from './decision.ts'
import { type Change, mayHaveLost } from './partition-change.ts'

/** What a leader that was not known to hold everything means for the partition, in words. */
export function uncleanNotices(topic: string, partitionId: number, before: PartitionImage, change: Change): Notice[] {
  if (!mayHaveLost(change.election)) return []
  const message = uncleanMeaning(`${topic}-${partitionId}`, before, change)
  return [{ level: 'warn', message, details: { topic, partition: partitionId, leader: change.fields.leader ?? -1 } }]
}

export function uncleanMeaning(name: string, before: PartitionImage, { election, fields }: Change): string {
  const leader = fields.leader ?? -1
  if (election === 'last-leader') {
    return (
      `${name} is led again by node ${leader}, its last leader, which did not stop cleanly: ` +
      'records that it had acknowledged but not yet written to disk are gone'
    )
  }
  const holders = [...before.isr, ...before.elr].filter((id) => id !== leader)
  const whose = holders.length > 0 ? holders : before.lastKnownElr.filter((id) => id !== leader)
  const known = whose.length > 0 ? `; node ${whose.join(', ')} held all of them` : ''
  return (
    `${name} is led by node ${leader}, which was not in sync (unclean election): ` +
    `acknowledged records that it did not have are gone${known}`
  )
}

import { type Assignor, byStableId } from './assignor.ts'

/**
 * Each topic by itself: its partitions in order, in runs of equal length, the first members with one more. Topics with
 * equally many partitions thus meet partition by partition in one member, which joins rely on.
 */
export const rangeAssignor: Assignor = {
  name: 'range',
  isCooperative: false,
  userData: () => null,
  assign(members, partitionCounts) {
    const assignment = new Map(members.map(({ memberId }) => [memberId, [] as { topic: string; partition: number }[]]))
    const topics = new Set(members.flatMap((member) => member.topics))
    for (const topic of [...topics].sort()) {
      const count = partitionCounts.get(topic) ?? 0
      const readers = members.filter((member) => member.topics.includes(topic)).sort(byStableId)
      const share = Math.floor(count / readers.length)
      const withOneMore = count % readers.length
      let partition = 0
      for (const [index, { memberId }] of readers.entries()) {
        const end = partition + share + (index < withOneMore ? 1 : 0)
        for (; partition < end; partition++) assignment.get(memberId)?.push({ topic, partition })
      }
    }
    return assignment
  },
}

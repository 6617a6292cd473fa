import type { MetadataImage } from '../metadata/image.ts'
import type { FollowerProgress } from '../partition/follower-progress.ts'
import type { Partition } from './partition.ts'

/**
 * The replica from which a consumer in `rack` should read on instead of from this leader (KIP-392): one in sync, alive, in
 * the same rack, that holds the offset; of several the one that holds most. Null: this one.
 */
export function nearestReplica(
  { leader }: Partition,
  { rack, fetchOffset, image }: { rack: string; fetchOffset: number; image: MetadataImage },
): number | null {
  if (leader === null || rack === '' || image.broker(leader.nodeId)?.rack === rack) return null
  let nearest: FollowerProgress | null = null
  for (const follower of leader.followers) {
    const broker = image.broker(follower.id)
    if (broker === undefined || broker.fenced || broker.rack !== rack || !leader.isr.includes(follower.id)) continue
    const holds = follower.startOffset >= 0 && follower.startOffset <= fetchOffset && fetchOffset <= follower.endOffset
    if (holds && follower.endOffset > (nearest?.endOffset ?? -1)) nearest = follower
  }
  return nearest?.id ?? null
}

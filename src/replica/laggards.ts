import type { Clock } from '../env/clock.ts'
import type { Partition } from './partition.ts'

/** A replica that is not in sync, for people: who, since when, how far behind. */
export interface Laggard {
  readonly nodeId: number
  /** Wall clock: since when it has been out of the ISR, as far as the present leader knows. */
  readonly sinceMs: number
  /** How long ago it had all that the leader had then; null: never under this leader. */
  readonly behindMs: number | null
  readonly behindRecords: number
  /** `silent`: it has not asked the present leader for anything. */
  readonly why: 'behind' | 'silent'
}

export function laggardsOf({ leader }: Partition, clock: Clock): Laggard[] {
  if (leader === null) return []
  const nowMs = clock.monotonicMs()
  const laggards: Laggard[] = []
  for (const { id, endOffset, caughtUpMs, outSinceMs } of leader.followers) {
    if (outSinceMs === null) continue
    laggards.push({
      nodeId: id,
      sinceMs: Math.round(clock.wallMs() - (nowMs - outSinceMs)),
      behindMs: caughtUpMs === Number.NEGATIVE_INFINITY ? null : Math.round(nowMs - caughtUpMs),
      behindRecords: leader.endOffset - Math.max(endOffset, 0),
      why: endOffset < 0 ? 'silent' : 'behind',
    })
  }
  return laggards
}

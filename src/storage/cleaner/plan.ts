import { BATCH_HEADER_BYTES, baseTimestamp } from '../../protocol/batch/header.ts'
import { newestMs } from '../log-retention.ts'
import type { LogState } from '../log-state.ts'
import type { Segment } from '../segment.ts'

/** What could be compacted of a log now. */
export interface CleaningPlan {
  readonly state: LogState
  /** How often the log had been truncated when this was planned: after one more it is void. */
  readonly truncations: number
  /** All below was compacted before. */
  readonly firstDirty: number
  /** Base of the first segment that must stay as it is. */
  readonly endOffset: number
  readonly dirtyBytes: number
  /** Of what may be compacted, the part that never was: 0 to 1. */
  readonly dirtyRatio: number
  /** Time alone may make more of it compactable, or make it urgent: to be looked at again. */
  readonly mayRipen: boolean
  /** By `min.cleanable.dirty.ratio`, or because a record waits longer than `max.compaction.lag.ms`. */
  readonly isDue: boolean
}

export interface PlanInput {
  readonly firstDirty: number
  readonly highWatermark: number
  readonly wallMs: number
}

/**
 * Never the active segment; nothing that reaches the last stable offset, nothing that is not durable with its indexes,
 * nothing younger than `min.compaction.lag.ms`. Whole segments only.
 */
export async function planCleaning(state: LogState, input: PlanInput): Promise<CleaningPlan> {
  const { firstDirty, highWatermark, wallMs } = input
  const { truncations } = state
  const { minCompactionLagMs, maxCompactionLagMs, minCleanableDirtyRatio } = state.config
  const segments = state.segments.slice(0, -1)
  const limits = segments.map((_, i) => state.segmentLimit(i))
  const stable = Math.min(state.producers.lastStableOffset(highWatermark), state.recoveryPoint)
  let cleanBytes = 0
  let dirtyBytes = 0
  let endOffset = segments[0]?.baseOffset ?? firstDirty
  let isBlocked = false
  let oldestMs = Number.MAX_SAFE_INTEGER
  for (const [i, segment] of segments.entries()) {
    const limit = limits[i] as number
    const isDirty = limit > firstDirty
    isBlocked =
      limit > stable ||
      (isDirty && minCompactionLagMs > 0 && wallMs - (await newestMs(state, segment)) < minCompactionLagMs)
    if (isBlocked) break
    endOffset = limit
    if (!isDirty) cleanBytes += segment.bytes
    else {
      dirtyBytes += segment.bytes
      if (Number.isSafeInteger(maxCompactionLagMs)) oldestMs = Math.min(oldestMs, await firstMs(state, segment))
    }
  }
  const dirtyRatio = dirtyBytes === 0 ? 0 : dirtyBytes / (cleanBytes + dirtyBytes)
  const isUrgent = dirtyBytes > 0 && wallMs - oldestMs > maxCompactionLagMs
  const isDue = dirtyBytes > 0 && (isUrgent || dirtyRatio > minCleanableDirtyRatio)
  const mayRipen = isBlocked || (dirtyBytes > 0 && Number.isSafeInteger(maxCompactionLagMs))
  return { state, truncations, firstDirty, endOffset, dirtyBytes, dirtyRatio, mayRipen, isDue }
}

/** Of the first batch. A segment without timestamps is not urgent. */
async function firstMs(state: LogState, segment: Segment): Promise<number> {
  if (segment.firstTimestampMs === null && segment.bytes > 0) {
    const lease = await state.context.files.acquire(state.path(segment, 'log'), 'read')
    try {
      const header = Buffer.allocUnsafe(BATCH_HEADER_BYTES)
      const filled = await lease.file.read(header, 0)
      segment.firstTimestampMs = filled < header.length ? -1 : baseTimestamp(header, 0)
    } finally {
      lease.release()
    }
  }
  const timestampMs = segment.firstTimestampMs ?? -1
  return timestampMs < 0 ? Number.MAX_SAFE_INTEGER : timestampMs
}

import type { LogState } from './log-state.ts'
import { newestMs } from './log-retention.ts'
import type { RetentionTime } from './retention-clock.ts'
import type { Segment } from './segment.ts'

/** All before `endOffset` will be gone in `leftMs`. */
export interface OutlookStep {
  readonly endOffset: number
  readonly leftMs: number
}

/** What retention is about to do to a log. */
export interface LogOutlook {
  readonly startOffset: number
  /** The segments that are in danger, oldest first; none where nothing is. */
  readonly steps: readonly OutlookStep[]
}

/** The last part of the life of a record, in which it is in danger, of `retention.ms` or of `retention.bytes`. */
const DANGER_SHARE = 0.1
/** A log of very many small segments is told of in so many steps. */
const STEPS_MAX = 32

/**
 * The segments in danger. `roundMs` is the time between two rounds of retention: what the next but one may take is in
 * danger however short the retention is, so that a warning always comes before the loss.
 */
export async function outlookOf(
  state: LogState,
  { time, roundMs, highWatermark }: { time: RetentionTime; roundMs: number; highWatermark: number },
): Promise<LogOutlook> {
  const steps: OutlookStep[] = []
  const dangerMs = Math.max(DANGER_SHARE * Math.max(state.config.retentionMs, 0), 2 * roundMs)
  for await (const { index, leftMs, roomBytes } of lives(state, time)) {
    if (leftMs > dangerMs && roomBytes >= DANGER_SHARE * state.config.retentionBytes) break
    const endOffset = Math.min(state.segmentLimit(index), highWatermark)
    if (endOffset <= (steps.at(-1)?.endOffset ?? state.logStartOffset)) break
    // Beyond the bound the last step takes the rest in, with the time of its first.
    const last = steps.length < STEPS_MAX ? undefined : steps.pop()
    steps.push({ endOffset, leftMs: last?.leftMs ?? leftMs })
  }
  return { startOffset: state.logStartOffset, steps }
}

/** How long retention leaves the record at `offset`, as things are now; Infinity: for ever. */
export async function timeLeft(state: LogState, offset: number, time: RetentionTime): Promise<number> {
  for await (const { index, leftMs } of lives(state, time)) {
    if (leftMs === Number.POSITIVE_INFINITY || state.segmentLimit(index) > offset) return leftMs
  }
  return Number.POSITIVE_INFINITY
}

interface SegmentLife {
  readonly index: number
  readonly leftMs: number
  /** What may still be written before it goes by size; Infinity where the size does not matter. */
  readonly roomBytes: number
}

/** How long retention leaves each segment, from the first on. It takes them from the front only. */
async function* lives(state: LogState, time: RetentionTime): AsyncGenerator<SegmentLife> {
  const { retentionMs, retentionBytes, cleanupPolicy } = state.config
  if (!cleanupPolicy.includes('delete') || (retentionMs < 0 && retentionBytes < 0)) return
  let later = state.bytes
  let byTimeMs = 0
  const first = Math.max(state.segmentIndexOf(state.logStartOffset), 0)
  for (let index = 0; index < state.segments.length; index++) {
    const segment = state.segments[index] as Segment
    later -= segment.bytes
    if (index < first) continue
    const isActive = segment === state.active
    // Empty, or without timestamps, the active segment waits to be rolled.
    if (isActive && (segment.newest?.timestampMs ?? -1) < 0) return
    const since = await newestMs(state, segment)
    byTimeMs = retentionMs < 0 ? Number.POSITIVE_INFINITY : Math.max(byTimeMs, time.until(since + retentionMs))
    const roomBytes = retentionBytes < 0 || isActive ? Number.POSITIVE_INFINITY : Math.max(0, retentionBytes - later)
    // At the rate at which the log has grown since.
    const bySizeMs = roomBytes === 0 ? 0 : (roomBytes / later) * Math.max(1, time.nowMs - since)
    yield { index, leftMs: Math.min(byTimeMs, bySizeMs), roomBytes }
  }
}

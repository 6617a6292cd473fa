import { BATCH_HEADER_BYTES } from '../../protocol/batch/header.ts'
import { OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES } from '../index-format.ts'
import type { LogState } from '../log-state.ts'
import type { Segment } from '../segment.ts'

/** Relative offsets of the indexes are int32. */
const OFFSETS_MAX = 0x7fffffff

/**
 * Neighbours that become one segment, as far as that stays within the topic's bounds whatever is dropped: small ones, as
 * earlier rounds leave them, grow together.
 */
export function groupSegments(state: LogState, segments: readonly Segment[]): Segment[][] {
  const { segmentBytes, segmentIndexBytes, indexIntervalBytes } = state.config
  const entriesMax = segmentIndexBytes / Math.max(OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES)
  const bytesMax = Math.min(segmentBytes, entriesMax * Math.max(indexIntervalBytes, BATCH_HEADER_BYTES))
  const groups: Segment[][] = []
  let bytes = 0
  for (const segment of segments) {
    const group = groups.at(-1)
    const first = group?.[0]?.baseOffset ?? 0
    const isNear = state.limitOf(segment) - 1 - first <= OFFSETS_MAX
    if (group !== undefined && bytes + segment.bytes <= bytesMax && isNear) {
      group.push(segment)
      bytes += segment.bytes
    } else {
      groups.push([segment])
      bytes = segment.bytes
    }
  }
  return groups
}

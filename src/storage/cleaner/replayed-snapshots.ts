import { fits, readSnapshot } from '../derive.ts'
import { parseSegmentFileName, segmentFileName } from '../file-names.ts'
import { removeIfThere, replaceDerivedFile } from '../files.ts'
import { NO_TIME } from '../index-format.ts'
import type { LogState } from '../log-state.ts'
import type { ProducerStates } from '../producer-states.ts'
import { encodeSnapshot } from '../producer-snapshot.ts'
import type { Segment } from '../segment.ts'

/**
 * Snapshots below the end of a cleaned part. One from before could hold a transaction open whose marker is gone, and a
 * replay that begins there would never end it. So they go before the first segment is replaced, durably, and those at the
 * segments' beginnings are made anew from a replay of what stays. None of them is missed: a start wants the newest one,
 * which lies beyond.
 */
export async function removeSnapshotsBelow(state: LogState, offset: number): Promise<void> {
  const { disk } = state.context.env
  state.pendingSnapshots = state.pendingSnapshots.filter((snapshot) => snapshot.offset >= offset)
  const files = (await disk.list(state.directory)).flatMap((name) => parseSegmentFileName(name) ?? [])
  const old = files.filter((file) => file.kind === 'snapshot' && file.offset < offset)
  for (const file of old) await removeIfThere(disk, pathAt(state, file.offset))
  await disk.syncDirectory(state.directory)
}

export interface ReplayedSnapshot {
  readonly offset: number
  readonly content: Buffer
}

/** As a start would have it that replays the log up to `segment`. `abortedBefore`: of the segment before it; -1: unknown. */
export function snapshotAt(
  state: LogState,
  segment: Segment,
  producers: ProducerStates,
  abortedBefore: number,
): ReplayedSnapshot {
  const { baseOffset: offset, createdMs } = segment
  const content = encodeSnapshot(producers.entries, {
    topicId: state.topicId,
    partition: state.topicPartition.partition,
    offset,
    segmentBase: offset,
    position: 0,
    createdMs,
    firstTimestampMs: null,
    newest: NO_TIME,
    abortedCount: 0,
    abortedBefore,
    epochs: state.epochs.entries.filter(({ startOffset }) => startOffset <= offset),
  })
  return { offset, content }
}

export function writeSnapshot(state: LogState, { offset, content }: ReplayedSnapshot): Promise<void> {
  return replaceDerivedFile(state.context.env.disk, pathAt(state, offset), content)
}

/** The snapshot behind the cleaned part says how many aborted transactions the segment before it names. */
export async function noteAbortedBefore(state: LogState, next: Segment, abortedBefore: number): Promise<void> {
  const snapshot = await readSnapshot(state, next.baseOffset)
  const { note = null, producers = [] } = snapshot ?? {}
  if (note === null || !fits(state, note) || note.segmentBase !== next.baseOffset) return
  if (note.abortedBefore === abortedBefore) return
  await writeSnapshot(state, {
    offset: next.baseOffset,
    content: encodeSnapshot(producers, { ...note, abortedBefore }),
  })
}

function pathAt(state: LogState, offset: number): string {
  return `${state.directory}/${segmentFileName(offset, 'snapshot')}`
}

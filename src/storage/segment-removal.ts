import { DELETED_SUFFIX, SEGMENT_FILE_KINDS } from './file-names.ts'
import { renameIfThere } from './files.ts'
import type { LogState } from './log-state.ts'
import type { Segment } from './segment.ts'

/**
 * Takes the files of segments away that are no longer in the log's list: renamed at once, unlinked after `delayMs`, so
 * that readers who are in them can end. `newestFirst` when a crash half way must leave a log without a gap at its end.
 */
export async function removeSegments(
  state: LogState,
  segments: readonly Segment[],
  { delayMs, newestFirst }: { delayMs: number; newestFirst: boolean },
): Promise<void> {
  const { context } = state
  for (const segment of newestFirst ? segments.toReversed() : segments) {
    for (const kind of SEGMENT_FILE_KINDS) {
      const path = state.path(segment, kind)
      await renameIfThere(context.env.disk, path, path + DELETED_SUFFIX)
      context.files.drop(path)
      context.indexes.drop(path)
      context.removeLater(path + DELETED_SUFFIX, delayMs)
    }
  }
}

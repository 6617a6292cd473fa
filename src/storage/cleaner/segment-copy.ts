import type { DiskFile } from '../../env/disk.ts'
import { batchBytes } from '../../protocol/batch/header.ts'
import { CLEANED_SUFFIX, type SegmentFileKind } from '../file-names.ts'
import { removeIfThere } from '../files.ts'
import { encodeOffsetEntries, encodeTimeEntries } from '../index-format.ts'
import type { LogState } from '../log-state.ts'
import { Segment } from '../segment.ts'
import { type AbortedTransaction, encodeAborted } from '../txn-index.ts'
import type { Pace } from './pace.ts'

const WRITE_BYTES = 256 * 1024
export const CLEANED_KINDS: readonly SegmentFileKind[] = ['log', 'index', 'timeindex', 'txnindex']

/** A segment that is being written as `.cleaned` files, beside the ones that it will stand for. */
export class SegmentCopy {
  readonly segment: Segment
  readonly #state: LogState
  readonly #pace: Pace
  readonly #file: DiskFile
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #written = 0

  private constructor(state: LogState, pace: Pace, segment: Segment, file: DiskFile) {
    this.#state = state
    this.#pace = pace
    this.segment = segment
    this.#file = file
  }

  /** Takes the place of segments of which the first begins at `baseOffset`. */
  static async begin(
    state: LogState,
    pace: Pace,
    { baseOffset, createdMs }: { baseOffset: number; createdMs: number },
  ): Promise<SegmentCopy> {
    const segment = new Segment(baseOffset, createdMs)
    const file = await state.context.env.disk.open(cleanedPath(state, segment, 'log'), 'create')
    const copy = new SegmentCopy(state, pace, segment, file)
    await file.truncate(0)
    return copy
  }

  /** The batch is copied if it is to be written later. A promise when something was written. */
  add(batch: Buffer): Promise<void> | null {
    const bytes = batchBytes(batch, 0)
    this.segment.append(batch, 0, bytes, this.#state.config.indexIntervalBytes)
    this.#waiting.push(Buffer.from(batch))
    this.#waitingBytes += bytes
    return this.#waitingBytes < WRITE_BYTES ? null : this.#flush()
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length === 0) return
    const [waiting, bytes, position] = [this.#waiting, this.#waitingBytes, this.#written]
    this.#waiting = []
    this.#waitingBytes = 0
    await this.#file.write(waiting, position)
    this.#written = position + bytes
    this.#pace.spent(bytes)
    this.#state.context.space.appended(bytes)
  }

  /** All files are written and durable, under their `.cleaned` names. */
  async finish(aborted: AbortedTransaction[]): Promise<void> {
    await this.#flush()
    await this.#file.sync()
    const { segment } = this
    segment.noteTime()
    const { pendingOffsets, pendingTimes, baseOffset } = segment
    await this.#write('index', encodeOffsetEntries(pendingOffsets, baseOffset))
    await this.#write('timeindex', encodeTimeEntries(pendingTimes, baseOffset))
    if (aborted.length > 0) await this.#write('txnindex', encodeAborted(aborted))
    segment.replaced({ offsets: pendingOffsets.length, times: pendingTimes.length })
    segment.writtenBytes = segment.syncedBytes = segment.bytes
    segment.aborted = aborted
    segment.abortedInFile = aborted.length
  }

  async #write(kind: SegmentFileKind, content: Buffer): Promise<void> {
    const file = await this.#state.context.env.disk.open(cleanedPath(this.#state, this.segment, kind), 'create')
    try {
      await file.truncate(0)
      await file.write([content], 0)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

export function cleanedPath(state: LogState, segment: Segment, kind: SegmentFileKind): string {
  return state.path(segment, kind) + CLEANED_SUFFIX
}

/** What a round that was not finished leaves. */
export async function removeCleaned(state: LogState, segment: Segment): Promise<void> {
  for (const kind of CLEANED_KINDS) await removeIfThere(state.context.env.disk, cleanedPath(state, segment, kind))
}

import { assert } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'
import { baseOffset, lastOffset, partitionLeaderEpoch } from '../protocol/batch/header.ts'
import { decodeCheckpoint, encodeCheckpoint, parseWhole } from './checkpoint-text.ts'

export interface EpochEntry {
  readonly epoch: number
  /** First offset of the epoch. */
  readonly startOffset: number
}

/** No epoch known, in answers about epochs. */
export const UNDEFINED_EPOCH = -1
export const UNDEFINED_OFFSET = -1

/**
 * Which leader epoch begins where in one log (KIP-101, KIP-279). Epochs and start offsets both grow strictly; nothing
 * begins beyond the end of the log. Equal to what a scan of the batches gives, plus epochs that wrote nothing yet.
 */
export class LeaderEpochs {
  #entries: EpochEntry[]

  constructor(entries: readonly EpochEntry[] = []) {
    this.#entries = [...entries]
    for (let i = 1; i < entries.length; i++) assertGrows(entries[i - 1] as EpochEntry, entries[i] as EpochEntry)
  }

  get entries(): readonly EpochEntry[] {
    return this.#entries
  }

  /** The newest epoch, or UNDEFINED_EPOCH. */
  get latest(): number {
    return this.#entries.at(-1)?.epoch ?? UNDEFINED_EPOCH
  }

  /**
   * From `startOffset` on the log belongs to `epoch`. True when this changed anything. Entries it supersedes (a later
   * epoch that began at or beyond this offset, having written nothing) go.
   */
  assign(epoch: number, startOffset: number): boolean {
    const last = this.#entries.at(-1)
    if (last !== undefined && epoch <= last.epoch) return false
    while (this.#entries.length > 0 && (this.#entries.at(-1) as EpochEntry).startOffset >= startOffset)
      this.#entries.pop()
    this.#entries.push({ epoch, startOffset })
    return true
  }

  /** Whose epoch the record at `offset` is, or UNDEFINED_EPOCH before the first entry. */
  epochAt(offset: number): number {
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i] as EpochEntry
      if (entry.startOffset <= offset) return entry.epoch
    }
    return UNDEFINED_EPOCH
  }

  /**
   * The answer of OffsetForLeaderEpoch: the largest epoch not above the one asked for, and where it ended.
   * `logEndOffset` ends the newest one.
   */
  endOffsetFor(epoch: number, logEndOffset: number): { leaderEpoch: number; endOffset: number } {
    const entries = this.#entries
    const first = entries[0]
    if (epoch === UNDEFINED_EPOCH || first === undefined || epoch > this.latest) {
      return { leaderEpoch: UNDEFINED_EPOCH, endOffset: UNDEFINED_OFFSET }
    }
    if (epoch === this.latest) return { leaderEpoch: epoch, endOffset: logEndOffset }
    // Below all that is known: nothing of that epoch is here, so whatever the asker has of it ends where we begin.
    if (epoch < first.epoch) return { leaderEpoch: epoch, endOffset: first.startOffset }
    const next = entries.findIndex((entry) => entry.epoch > epoch)
    return {
      leaderEpoch: (entries[next - 1] as EpochEntry).epoch,
      endOffset: (entries[next] as EpochEntry).startOffset,
    }
  }

  /** The log now ends at `endOffset`. */
  truncateFromEnd(endOffset: number): boolean {
    const before = this.#entries.length
    while (this.#entries.length > 0 && (this.#entries.at(-1) as EpochEntry).startOffset >= endOffset)
      this.#entries.pop()
    return this.#entries.length !== before
  }

  /** The log now begins at `startOffset`: the epoch that holds it begins there. */
  truncateFromStart(startOffset: number): boolean {
    const holder = this.#entries.findLastIndex((entry) => entry.startOffset <= startOffset)
    const first = this.#entries[holder]
    if (first === undefined || (holder === 0 && first.startOffset === startOffset)) return false
    this.#entries.splice(0, holder + 1, { epoch: first.epoch, startOffset })
    return true
  }

  clear(): void {
    this.#entries = []
  }

  encode(): Buffer {
    return encodeCheckpoint(this.#entries.map(({ epoch, startOffset }) => `${epoch} ${startOffset}`))
  }
}

/**
 * What is wrong with the leader epoch of the batch at `at`, or null. Its checksum does not cover it either. A batch that
 * Kafka took over from before there were epochs has none; nor is any known of what lies before the log's start.
 */
export function epochDamage(epochs: LeaderEpochs, buffer: Buffer, at: number): string | null {
  const epoch = partitionLeaderEpoch(buffer, at)
  if (epoch === UNDEFINED_EPOCH) return null
  // Of the last record: the log may start within the batch, and the epoch then begins there.
  const known = epochs.epochAt(lastOffset(buffer, at))
  if (epoch === known || (known === UNDEFINED_EPOCH && epoch >= 0)) return null
  return `a batch of leader epoch ${epoch} at offset ${baseOffset(buffer, at)}, where epoch ${known} wrote`
}

/** Reads `leader-epoch-checkpoint`. Throws `MalformedError`, also for entries that do not grow. */
export function decodeEpochs(content: Buffer): LeaderEpochs {
  const entries = decodeCheckpoint(content, 2).map(([epoch, startOffset]) => ({
    epoch: parseWhole(epoch, 0),
    startOffset: parseWhole(startOffset, 0),
  }))
  for (let i = 1; i < entries.length; i++) {
    const [before, after] = [entries[i - 1] as EpochEntry, entries[i] as EpochEntry]
    if (after.epoch <= before.epoch || after.startOffset <= before.startOffset) {
      throw new MalformedError(`leader epochs do not grow: ${describe(before)}, then ${describe(after)}`)
    }
  }
  return new LeaderEpochs(entries)
}

function describe({ epoch, startOffset }: EpochEntry): string {
  return `${epoch} at ${startOffset}`
}

function assertGrows(before: EpochEntry, after: EpochEntry): void {
  assert(
    after.epoch > before.epoch && after.startOffset > before.startOffset,
    `leader epochs grow: ${describe(before)}, then ${describe(after)}`,
  )
}

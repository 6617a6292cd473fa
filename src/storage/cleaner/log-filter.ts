import {
  attributes,
  baseTimestamp,
  batchBytes,
  DELETE_HORIZON_FLAG,
  isControl,
  isTransactional,
  lastOffset,
  baseOffset,
  producerId,
  recordCount,
} from '../../protocol/batch/header.ts'
import { recordsSection } from '../../protocol/batch/records.ts'
import { RecordCursor } from '../../protocol/batch/cursor.ts'
import { readMarker } from '../marker.ts'
import type { AbortedRanges } from './aborted-ranges.ts'
import type { KnownProducers } from './known-producers.ts'
import { KEY_BYTES_MAX, type OffsetMap } from './offset-map.ts'
import { canCarryHorizon, emptyBatch, type KeptRecord, keptRecord, rewriteBatch } from './rewrite-batch.ts'

export interface FilterInput {
  /** The newest offset of every key in the dirty part, which ends at `endOffset`. */
  readonly newest: OffsetMap
  /** From here on everything stays as it is. */
  readonly endOffset: number
  readonly aborted: AbortedRanges
  readonly producers: KnownProducers
  /** Of a clock that does not jump. */
  readonly wallMs: number
  readonly deleteRetentionMs: number
}

/** Why a control batch that ends no transaction, or one whose records are still there, stays. */
type MarkerFate = 'stays' | 'may-go'

/**
 * What stays of a log, batch by batch, as Kafka's cleaner decides. Fed with all batches of the log in order, from its
 * first one. A record goes when its key has a newer one, when its transaction was aborted, or when it is a tombstone whose
 * time is over. A marker goes once nothing of its transaction is left, and not before `delete.retention.ms` after the
 * first round that saw this. What cannot be compared (no key, or one too long) stays, with its tombstones.
 */
export class LogFilter {
  readonly #input: FilterInput
  /** Producers with a transaction of which a batch was met, and no marker yet. */
  readonly #observed = new Set<number>()

  constructor(input: FilterInput) {
    this.#input = input
  }

  /**
   * The batch as it stays: a view of the same bytes, other bytes, or null. `mustStay`: at least without its records.
   * Throws `MalformedError` when its records cannot be read.
   */
  apply(buffer: Buffer, at: number, mustStay: boolean): Buffer | null {
    const same = buffer.subarray(at, at + batchBytes(buffer, at))
    const fate = isControl(buffer, at) ? this.#observeMarker(buffer, at) : this.#observeData(buffer, at)
    if (lastOffset(buffer, at) >= this.#input.endOffset) return same
    const stays = mustStay || this.#input.producers.has(buffer, at)
    if (recordCount(buffer, at) === 0) return stays ? same : null
    const isAborted = !isControl(buffer, at) && this.#input.aborted.has(buffer, at)
    const isOver = fate === 'may-go' && this.#isHorizonOver(buffer, at)
    if (isAborted || isOver) return stays ? emptyBatch(buffer, at) : null
    return this.#applyToRecords(buffer, at, { same, stays, fate })
  }

  #observeData(buffer: Buffer, at: number): MarkerFate {
    if (isTransactional(buffer, at)) this.#observed.add(producerId(buffer, at))
    return 'stays'
  }

  #observeMarker(buffer: Buffer, at: number): MarkerFate {
    if (recordCount(buffer, at) === 0) return 'may-go'
    if (readMarker(buffer, at) === null) return 'stays'
    return this.#observed.delete(producerId(buffer, at)) ? 'stays' : 'may-go'
  }

  #horizonMs(buffer: Buffer, at: number): number | null {
    return (attributes(buffer, at) & DELETE_HORIZON_FLAG) === 0 ? null : baseTimestamp(buffer, at)
  }

  #isHorizonOver(buffer: Buffer, at: number): boolean {
    const horizonMs = this.#horizonMs(buffer, at)
    return horizonMs !== null && horizonMs <= this.#input.wallMs
  }

  #applyToRecords(
    buffer: Buffer,
    at: number,
    { same, stays, fate }: { same: Buffer; stays: boolean; fate: MarkerFate },
  ): Buffer | null {
    const section = recordsSection(buffer, at)
    const count = recordCount(buffer, at)
    const cursor = new RecordCursor(section, { start: 0, end: section.length, count })
    const kept: KeptRecord[] = []
    const base = baseOffset(buffer, at)
    const mayDropTombstones = this.#isHorizonOver(buffer, at)
    const isMarker = isControl(buffer, at)
    let needsHorizon = fate === 'may-go'
    while (cursor.next()) {
      if (!isMarker && this.#mayGo(cursor, base, mayDropTombstones)) continue
      kept.push(keptRecord(cursor))
      if (!isMarker && cursor.valueLength < 0) needsHorizon = true
    }
    if (kept.length === 0) return stays ? emptyBatch(buffer, at) : null
    const horizonMs = this.#input.wallMs + this.#input.deleteRetentionMs
    const setsHorizon =
      needsHorizon && this.#horizonMs(buffer, at) === null && canCarryHorizon(buffer, at, kept, horizonMs)
    if (kept.length === count && !setsHorizon) return same
    return rewriteBatch(buffer, at, { section, kept, horizonMs: setsHorizon ? horizonMs : null })
  }

  #mayGo(cursor: RecordCursor, base: number, mayDropTombstones: boolean): boolean {
    if (cursor.keyLength < 0 || cursor.keyLength > KEY_BYTES_MAX) return false
    const newest = this.#input.newest.get(cursor.section, cursor.keyStart, cursor.keyLength)
    return newest > base + cursor.offsetDelta || (mayDropTombstones && cursor.valueLength < 0)
  }
}

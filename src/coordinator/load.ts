import { assert } from '../base/assert.ts'
import { ByteReader, MalformedError } from '../base/bytes.ts'
import { sleep, type Timers } from '../env/clock.ts'
import type { ReplicatedLog } from '../env/replicated-log.ts'
import type { Shard } from '../model/shard.ts'
import { ControlRecordType } from '../protocol/batch/build.ts'
import { isControl, isTransactional, lastOffset, producerId } from '../protocol/batch/header.ts'
import { batchesOf, recordsOf } from '../protocol/batch/records.ts'
import type { ShardKind } from './runtime.ts'

interface Loading<Rec, Request, Response> {
  readonly timers: Timers
  readonly kind: ShardKind<Rec, Request, Response>
  readonly log: ReplicatedLog
  readonly shard: Shard<Rec, Request, Response>
  readonly chunkBytes: number
  /** False when the result is no longer wanted; the loading then stops where it is. */
  readonly isCurrent: () => boolean
}

/** Replays a log from its start to its end. Between chunks the rest of the node gets its turn. */
export async function loadShard<Rec, Request, Response>(
  loading: Loading<Rec, Request, Response>,
): Promise<{ records: number }> {
  const { timers, log, chunkBytes, isCurrent } = loading
  let offset = log.startOffset
  let records = 0
  while (isCurrent() && offset < log.endOffset) {
    const chunk = await log.read(offset, chunkBytes)
    if (!isCurrent()) break
    const before = offset
    for (const at of batchesOf(chunk)) {
      const end = lastOffset(chunk, at) + 1
      // The first batch of a chunk may begin below what was asked for.
      if (end <= offset) continue
      records += replayBatch(loading, chunk, at, offset)
      offset = end
    }
    assert(offset > before, `nothing to read at ${before} of a log that ends at ${log.endOffset}`)
    await sleep(timers, 0)
  }
  return { records }
}

function replayBatch<Rec, Request, Response>(
  { kind, shard }: Loading<Rec, Request, Response>,
  chunk: Buffer,
  at: number,
  fromOffset: number,
): number {
  const isMarker = isControl(chunk, at)
  const producer = producerId(chunk, at)
  const ofTransaction = isTransactional(chunk, at) ? producer : null
  let records = 0
  for (const { offset, key, value } of recordsOf(chunk, at)) {
    if (offset < fromOffset) continue
    if (key === null) throw new MalformedError(`record ${offset} of a coordinator's topic has no key`)
    records++
    if (isMarker) replayMarker(shard, key, producer, offset)
    else shard.replay(kind.decode(key, value), { offset, producerId: ofTransaction })
  }
  return records
}

function replayMarker<Rec, Request, Response>(
  shard: Shard<Rec, Request, Response>,
  key: Buffer,
  producer: number,
  offset: number,
): void {
  const reader = new ByteReader(key)
  reader.int16()
  const type = reader.int16()
  // Other control records (leader changes) say nothing about transactions.
  if (type === ControlRecordType.COMMIT) shard.replayTransactionEnd(producer, true, offset)
  else if (type === ControlRecordType.ABORT) shard.replayTransactionEnd(producer, false, offset)
}

import type { Env } from '../env/env.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { recordsOf } from '../metadata/snapshot.ts'
import type { MetadataLog } from './metadata-log.ts'
import { metadataVersionOf } from './active-controller.ts'
import type { VoterSet } from './snapshot-file.ts'

/** An applied image with those who vote by the log up to it. */
export interface Applied {
  readonly image: MetadataImage
  readonly voters: VoterSet
}

/**
 * Writes snapshots of what is applied, and lets go of the part of the log that none of the kept ones needs. One at a time:
 * a call while one is written waits for that one instead.
 */
export class SnapshotTaker {
  readonly #env: Env
  readonly #log: MetadataLog
  readonly #onCreated: () => void
  #work: Promise<void> | null = null

  constructor(env: Env, log: MetadataLog, onCreated: () => void) {
    this.#env = env
    this.#log = log
    this.#onCreated = onCreated
  }

  take(applied: Applied): Promise<void> {
    this.#work ??= this.#take(applied).finally(() => {
      this.#work = null
    })
    return this.#work
  }

  get isIdle(): boolean {
    return this.#work === null
  }

  /** Resolves when none is being written. */
  async settled(): Promise<void> {
    await this.#work?.catch(() => {})
  }

  async #take({ image, voters }: Applied): Promise<void> {
    const { offset, epoch, timestampMs } = image.position
    const id = { offset: offset + 1, epoch }
    if (id.offset === 0) return
    const log = this.#log
    const bytes = await log.snapshots.write({
      id,
      voterSet: voters,
      records: recordsOf(image),
      metadataVersion: metadataVersionOf(image),
      lastContainedTimestampMs: timestampMs,
    })
    if (bytes === null) return
    this.#env.log.info('Wrote a metadata snapshot', { offset: id.offset, epoch, bytes })
    // In this order: who asks for what lies before the log's start must always be told of a snapshot.
    const oldest = log.snapshots.keepNewest()
    if (oldest !== null) await log.partitionLog.advanceStartOffset(oldest.offset)
    await log.snapshots.removeOld()
    this.#onCreated()
  }
}

import { MalformedError } from '../base/bytes.ts'
import type { DiskFile } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import { removeIfThere } from '../storage/files.ts'
import {
  isPartialSnapshot,
  type LoadedSnapshot,
  parseSnapshot,
  SNAPSHOT_BYTES_MAX,
  type SnapshotContent,
  type SnapshotId,
  snapshotFileName,
  writeSnapshot,
} from './snapshot-file.ts'
import { listSnapshots } from './snapshots.ts'

export interface StoredSnapshot extends SnapshotId {
  readonly bytes: number
}

/** Snapshots that are kept: should the newest turn out to be damaged, the one before and the log still have everything. */
export const SNAPSHOTS_KEPT = 2

/**
 * The snapshots in the metadata folder: written by this node, or fetched from the leader chunk by chunk. The list in memory
 * names whole ones only; the newest was read, or written, by this process.
 */
export class SnapshotStore {
  readonly #env: Env
  readonly #folder: string
  #stored: readonly StoredSnapshot[]
  #fetching: { readonly id: SnapshotId; readonly file: DiskFile } | null = null

  private constructor(env: Env, folder: string, stored: readonly StoredSnapshot[]) {
    this.#env = env
    this.#folder = folder
    this.#stored = stored
  }

  /** Those from `oldest` to `newest`, which was found whole; null: there are none. */
  static async open(
    env: Env,
    folder: string,
    newest: SnapshotId | null,
    logStartOffset: number,
  ): Promise<SnapshotStore> {
    const stored: StoredSnapshot[] = []
    for (const id of await listSnapshots(env, folder)) {
      if (newest === null || id.offset > newest.offset || id.offset < logStartOffset) continue
      const stat = await env.disk.stat(`${folder}/${snapshotFileName(id)}`)
      if (stat !== null) stored.push({ ...id, bytes: stat.bytes })
    }
    return new SnapshotStore(env, folder, stored)
  }

  get earliest(): StoredSnapshot | null {
    return this.#stored[0] ?? null
  }

  get latest(): StoredSnapshot | null {
    return this.#stored.at(-1) ?? null
  }

  /** Null when there is no such snapshot. */
  bytesOf(id: SnapshotId): number | null {
    return this.#stored.find((each) => isSame(each, id))?.bytes ?? null
  }

  /** Bytes of a stored snapshot, fewer than asked for only at its end. Rejects with `DiskError` when it is gone by now. */
  async read(id: SnapshotId, position: number, maxBytes: number): Promise<Buffer> {
    const size = this.bytesOf(id) ?? 0
    const file = await this.#env.disk.open(`${this.#folder}/${snapshotFileName(id)}`, 'read')
    try {
      const buffer = Buffer.alloc(Math.max(0, Math.min(maxBytes, size - position)))
      return buffer.subarray(0, await file.read(buffer, position))
    } finally {
      await file.close()
    }
  }

  /** Durable when it resolves. Nothing is done for one that is older than what is there. Returns the size. */
  async write(content: SnapshotContent): Promise<number | null> {
    const { id } = content
    if (this.latest !== null && this.latest.offset >= id.offset) return null
    const bytes = await writeSnapshot(this.#env.disk, this.#folder, content, this.#env.clock.wallMs())
    // A newer one may have been fetched meanwhile.
    if (this.latest === null || this.latest.offset < id.offset) this.#stored = [...this.#stored, { ...id, bytes }]
    return bytes
  }

  /** The next chunk of a snapshot that is fetched; position 0 begins anew. */
  async take(id: SnapshotId, position: number, chunk: readonly Buffer[]): Promise<void> {
    if (position === 0) await this.#begin(id)
    await this.#fetching?.file.write(chunk, position)
  }

  async #begin(id: SnapshotId): Promise<void> {
    await this.abandon()
    const file = await this.#env.disk.open(this.#fetchedPath(id), 'create')
    this.#fetching = { id, file }
    await file.truncate(0)
  }

  /** Apart from the name that this node would write the same snapshot under. */
  #fetchedPath(id: SnapshotId): string {
    return `${this.#folder}/${snapshotFileName(id)}.fetched.part`
  }

  /** All of it is there: null when it is damaged, and gone then. Durable under its name otherwise, and the only one listed. */
  async install(id: SnapshotId): Promise<LoadedSnapshot | null> {
    if (this.#fetching === null) return null
    const { file } = this.#fetching
    await file.sync()
    await this.#close()
    const path = this.#fetchedPath(id)
    const content = await this.#env.disk.readFile(path, SNAPSHOT_BYTES_MAX)
    let loaded: LoadedSnapshot
    try {
      loaded = parseSnapshot(content, id)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      this.#env.log.warn('A fetched metadata snapshot is damaged', { offset: id.offset, reason: error.message })
      await removeIfThere(this.#env.disk, path)
      return null
    }
    await this.#env.disk.rename(path, `${this.#folder}/${snapshotFileName(id)}`)
    await this.#env.disk.syncDirectory(this.#folder)
    this.#stored = [{ ...id, bytes: content.length }]
    return loaded
  }

  /** Lets go of a snapshot that was fetched in part. */
  async abandon(): Promise<void> {
    const { id } = this.#fetching ?? {}
    await this.#close()
    if (id !== undefined) await removeIfThere(this.#env.disk, this.#fetchedPath(id))
  }

  async #close(): Promise<void> {
    const { file } = this.#fetching ?? {}
    this.#fetching = null
    await file?.close()
  }

  /** From now on only the newest ones are there for anyone; returns the oldest of them, with which the log may begin. */
  keepNewest(): StoredSnapshot | null {
    this.#stored = this.#stored.slice(-SNAPSHOTS_KEPT)
    return this.earliest
  }

  /** Removes the files of those that are not kept. The log begins no earlier than the oldest kept one by now. */
  async removeOld(): Promise<void> {
    const { earliest } = this
    for (const id of await listSnapshots(this.#env, this.#folder)) {
      if (earliest === null || id.offset < earliest.offset) await this.#remove(snapshotFileName(id))
    }
  }

  /** What a crash left unfinished. At a start only. */
  async removeUnfinished(): Promise<void> {
    for (const name of await this.#env.disk.list(this.#folder)) if (isPartialSnapshot(name)) await this.#remove(name)
  }

  #remove(name: string): Promise<void> {
    return removeIfThere(this.#env.disk, `${this.#folder}/${name}`)
  }
}

function isSame(one: SnapshotId, other: SnapshotId): boolean {
  return one.offset === other.offset && one.epoch === other.epoch
}

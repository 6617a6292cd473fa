import { assert, bug } from '../base/assert.ts'
import { type Disk, DiskError, type DiskFile } from '../env/disk.ts'

/** `read`: a file that is there. The others make it when missing, and differ in how it writes. */
type Use = 'read' | 'create' | 'durable'

interface OpenFile {
  readonly path: string
  /** Each write is durable by itself. */
  readonly writesThrough: boolean
  readonly opening: Promise<DiskFile>
  file: DiskFile | null
  /** Who uses it now; a file in use is never closed. */
  users: number
  /** Not to be found again: closed as soon as nobody uses it. */
  isDropped: boolean
}

/** A file in use. Released exactly once. */
export interface FileLease {
  readonly file: DiskFile
  release(): void
}

/**
 * Keeps the files used last open, at most about `filesMax`; those in use are never closed, so that many concurrent
 * uses can exceed the bound. One descriptor per path serves reads, writes and syncs: an error of a sync must not get
 * lost with a closed descriptor.
 */
export class OpenFiles {
  readonly #disk: Disk
  readonly #filesMax: number
  /** Least recently used first. */
  readonly #files = new Map<string, OpenFile>()
  readonly #closing = new Set<Promise<void>>()
  /** From now on a file is closed as soon as nobody uses it. */
  #isClosed = false

  constructor(disk: Disk, filesMax: number) {
    this.#disk = disk
    this.#filesMax = filesMax
  }

  /** Descriptors now open. */
  get count(): number {
    return this.#files.size
  }

  get isOverBound(): boolean {
    return this.#files.size > this.#filesMax
  }

  /**
   * Opens the file, or takes the descriptor that is open. Who writes gets one that writes as wanted: another is put aside
   * for those who use it, which is safe as whoever wrote by it has synced by it before letting go. Rejects with `DiskError`.
   */
  async acquire(path: string, use: Use): Promise<FileLease> {
    const found = this.#files.get(path)
    if (found !== undefined && use !== 'read' && found.writesThrough !== (use === 'durable')) this.drop(path)
    const open = this.#files.get(path) ?? this.#open(path, use)
    open.users++
    this.#files.delete(path)
    if (!open.isDropped) this.#files.set(path, open)
    this.#closeIdle()
    try {
      const file = await open.opening
      let isReleased = false
      return {
        file,
        release: () => {
          assert(!isReleased, `second release of ${path}`)
          isReleased = true
          this.#release(open)
        },
      }
    } catch (error) {
      this.#forget(open)
      throw error
    }
  }

  #open(path: string, use: Use): OpenFile {
    const opening = use === 'read' ? this.#openToRead(path) : this.#disk.open(path, use)
    const writesThrough = use === 'durable'
    const open: OpenFile = { path, writesThrough, opening, file: null, users: 0, isDropped: this.#isClosed }
    open.opening.then(
      (file) => {
        open.file = file
      },
      () => {},
    )
    return open
  }

  /** For writing too, so that the descriptor can be shared; on a read-only file system for reading at least. */
  async #openToRead(path: string): Promise<DiskFile> {
    try {
      return await this.#disk.open(path, 'write')
    } catch (error) {
      if (error instanceof DiskError && ['EROFS', 'EACCES', 'EPERM'].includes(error.code)) {
        return this.#disk.open(path, 'read')
      }
      throw error
    }
  }

  #release(open: OpenFile): void {
    open.users--
    if (!(open.users >= 0)) bug(`more releases than uses of ${open.path}`)
    if (open.users > 0) return
    if (open.isDropped) this.#close(open)
    else if (this.isOverBound) this.#closeIdle()
  }

  #closeIdle(): void {
    if (!this.isOverBound) return
    for (const open of this.#files.values()) {
      if (open.users > 0) continue
      this.#forget(open)
      this.#close(open)
      if (!this.isOverBound) return
    }
  }

  #forget(open: OpenFile): void {
    if (this.#files.get(open.path) === open) this.#files.delete(open.path)
  }

  #close(open: OpenFile): void {
    if (open.file === null) return
    // Nothing that matters can fail here: what must be durable was synced before.
    const closing = open.file.close().catch(() => {})
    this.#closing.add(closing)
    void closing.finally(() => this.#closing.delete(closing))
  }

  /** The path means another file from now on (renamed, removed): present users keep the old one. */
  drop(path: string): void {
    const open = this.#files.get(path)
    if (open === undefined) return
    this.#files.delete(path)
    open.isDropped = true
    if (open.users === 0) this.#close(open)
  }

  /** Closes all that are idle and waits. A reader that is late still gets its file, which is closed behind it. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const path of [...this.#files.keys()]) this.drop(path)
    await Promise.all(this.#closing)
  }
}

/** What failed, by the system's own code. */
export class DiskError extends Error {
  override name = 'DiskError'
  /** `ENOENT`, `EEXIST`, `ENOSPC`, `EDQUOT`, `EFBIG`, `EIO`, `EMFILE`, `EROFS`, `EACCES`, … */
  readonly code: string
  readonly path: string

  constructor(code: string, path: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.path = path
  }
}

/** No room, as against broken: the node goes read-only and comes back when there is room again (reliability S6). */
export function isOutOfSpace(error: unknown): boolean {
  return error instanceof DiskError && ['ENOSPC', 'EDQUOT', 'EFBIG', 'EMFILE', 'ENFILE'].includes(error.code)
}

/** Nothing was done, for want of a descriptor: it can simply be tried again. */
export function isOutOfDescriptors(error: unknown): boolean {
  return error instanceof DiskError && (error.code === 'EMFILE' || error.code === 'ENFILE')
}

export interface FileStat {
  readonly kind: 'file' | 'directory'
  readonly bytes: number
  /** Wall clock; a hint only, for the simulator and a restored backup lie. */
  readonly modifiedMs: number
}

export type OpenMode = 'read' | 'write' | 'create' | 'exclusive' | 'durable'

export interface DiskSpace {
  /** For us: less than is free where some is kept for the administrator. */
  readonly freeBytes: number
  readonly totalBytes: number
}

/**
 * Files and directories. All reject with `DiskError`. What survives a power cut: file contents up to the last `sync` of
 * the file; a name (created, renamed, removed) up to the last `syncDirectory` of its directory. A killed process alone
 * loses nothing that `write` has reported.
 */
export interface Disk {
  /**
   * All but `read` may also write. `create` makes the file when missing, `exclusive` fails with EEXIST when it exists, and
   * `durable` is `create` for a file that writes through.
   */
  open(path: string, mode: OpenMode): Promise<DiskFile>
  /** Null when there is nothing at `path`. */
  stat(path: string): Promise<FileStat | null>
  /** Names, sorted. */
  list(path: string): Promise<string[]>
  /** Makes missing parents too. */
  makeDirectory(path: string): Promise<void>
  /** Replaces what is at `to`, atomically. */
  rename(from: string, to: string): Promise<void>
  removeFile(path: string): Promise<void>
  /** With everything below; nothing there is fine. */
  removeTree(path: string): Promise<void>
  syncDirectory(path: string): Promise<void>
  /** The whole file. Rejects with ENOENT, or EFBIG when it is larger than `maxBytes`. */
  readFile(path: string, maxBytes?: number): Promise<Buffer>
  /** Room on the file system of `path`. */
  space(path: string): Promise<DiskSpace>
  /**
   * Takes an exclusive lock on the file `path` (made when missing, kept empty, to be opened by nobody), held until the
   * process ends, however it ends, or `unlock` is called; null when it is held already, by whomever. Two nodes must never
   * write one directory.
   */
  lock(path: string): Promise<DiskLock | null>
}

export interface DiskLock {
  unlock(): Promise<void>
}

export interface DiskFile {
  readonly path: string
  /**
   * Each write is durable when it resolves, with the file's length, in one step instead of two. It makes only its own
   * bytes durable: what was written before by other means still needs a `sync`. When a write fails for another reason
   * than room, no later success may be trusted, as with `sync`.
   */
  readonly writesThrough: boolean
  /** Fills `buffer` from `position`; returns fewer bytes only at the end of the file. */
  read(buffer: Buffer, position: number): Promise<number>
  /**
   * Writes all buffers one after the other from `position` (gathered). They must not change until it settles. On a
   * rejection any part may have been written.
   */
  write(buffers: readonly Buffer[], position: number): Promise<void>
  /**
   * Makes all that was written durable, with the file's length. Once it has rejected the file is poisoned: the caller
   * must never trust a later success (reliability S5, fsyncgate).
   */
  sync(): Promise<void>
  truncate(length: number): Promise<void>
  size(): Promise<number>
  close(): Promise<void>
}

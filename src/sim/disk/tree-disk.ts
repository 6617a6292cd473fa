import { assert, bug } from '../../base/assert.ts'
import {
  type Disk,
  DiskError,
  type DiskFile,
  type DiskLock,
  type DiskSpace,
  type FileStat,
  type OpenMode,
} from '../../env/disk.ts'
import { digestOf, digestOfName } from '../core/digest.ts'
import type { DiskOperation, DiskWorker } from './disk-work.ts'
import { type FileTree, failure } from './file-tree.ts'
import type { FileNode } from './nodes.ts'

/** Which process holds which lock; shared by all processes that use one tree. */
export type LockTable = Map<string, { readonly disk: TreeDisk }>

const READ_FILE_BYTES_MAX = 2 ** 30

/** A `Disk` for one process over a tree that outlives it. */
export class TreeDisk implements Disk {
  readonly tree: FileTree
  readonly worker: DiskWorker
  readonly #locks: LockTable
  readonly #open = new Set<DiskFile>()

  constructor(tree: FileTree, worker: DiskWorker, locks: LockTable) {
    this.tree = tree
    this.worker = worker
    this.#locks = locks
  }

  /** Files open now; a leak shows here. */
  get openFiles(): number {
    return this.#open.size
  }

  get openPaths(): string[] {
    return [...this.#open].map(({ path }) => path)
  }

  /** Called by a file: it is open. */
  opened(file: DiskFile): void {
    this.#open.add(file)
  }

  /** Called by a file: it is closed. */
  closed(file: DiskFile): void {
    this.#open.delete(file)
  }

  open(path: string, mode: OpenMode): Promise<DiskFile> {
    return this.#do('open', path, () => {
      this.#checkDescriptors(path)
      return new TreeFile(this, this.tree.open(path, mode === 'durable' ? 'create' : mode), path, mode)
    })
  }

  stat(path: string): Promise<FileStat | null> {
    return this.#do('stat', path, () => this.tree.stat(path))
  }

  list(path: string): Promise<string[]> {
    return this.#do('stat', path, () => {
      this.#checkDescriptors(path)
      return this.tree.list(path)
    })
  }

  /** Whatever opens something needs one, if only for a moment. */
  #checkDescriptors(path: string): void {
    if (this.openFiles >= this.worker.openFilesMax) throw failure('EMFILE', path)
  }

  makeDirectory(path: string): Promise<void> {
    return this.#do('name', path, () => this.tree.makeDirectory(path))
  }

  rename(from: string, to: string): Promise<void> {
    return this.#do('name', from, () => this.tree.rename(from, to))
  }

  removeFile(path: string): Promise<void> {
    return this.#do('remove', path, () => this.tree.removeFile(path))
  }

  removeTree(path: string): Promise<void> {
    return this.#do('remove', path, () => this.tree.removeTree(path))
  }

  syncDirectory(path: string): Promise<void> {
    const upTo = this.tree.sequence
    return this.#do('syncDirectory', path, () => {
      this.#checkDescriptors(path)
      this.tree.syncDirectory(this.tree.directory(path), upTo)
    })
  }

  async readFile(path: string, maxBytes = READ_FILE_BYTES_MAX): Promise<Buffer> {
    const file = await this.open(path, 'read')
    try {
      const bytes = await file.size()
      if (bytes > maxBytes) {
        throw new DiskError('EFBIG', path, `${path} has ${bytes} bytes, at most ${maxBytes} are read`)
      }
      const buffer = Buffer.alloc(bytes)
      return buffer.subarray(0, await file.read(buffer, 0))
    } finally {
      await file.close()
    }
  }

  space(path: string): Promise<DiskSpace> {
    return this.#do('stat', path, () => ({
      freeBytes: Math.min(this.tree.freeBytes, Number.MAX_SAFE_INTEGER),
      totalBytes: Math.min(this.tree.capacityBytes, Number.MAX_SAFE_INTEGER),
    }))
  }

  lock(path: string): Promise<DiskLock | null> {
    const locks = this.#locks
    return this.#do('lock', path, () => {
      if (locks.has(path)) return null
      this.tree.open(path, 'create')
      const holder = { disk: this }
      locks.set(path, holder)
      return {
        async unlock() {
          if (locks.get(path) === holder) locks.delete(path)
        },
      }
    })
  }

  /** The process has ended. */
  releaseLocks(): void {
    for (const [path, { disk }] of this.#locks) if (disk === this) this.#locks.delete(path)
  }

  #do<T>(kind: DiskOperation, path: string, effect: () => T): Promise<T> {
    const digest = this.worker.traced ? digestOfName(path) : 0
    return this.worker.perform({ kind, path, bytes: 0, digest, effect })
  }
}

class TreeFile implements DiskFile {
  readonly path: string
  readonly writesThrough: boolean
  readonly #disk: TreeDisk
  readonly #node: FileNode
  readonly #writable: boolean
  #closed = false

  constructor(disk: TreeDisk, node: FileNode, path: string, mode: OpenMode) {
    this.path = path
    this.writesThrough = mode === 'durable'
    this.#disk = disk
    this.#node = node
    this.#writable = mode !== 'read'
    disk.opened(this)
  }

  read(buffer: Buffer, position: number): Promise<number> {
    const node = this.#open()
    return this.#perform('read', buffer.length, position, () => node.content.read(buffer, position))
  }

  /** Writing through is a write and a sync: a crash, or a fault, may come between them. */
  async write(buffers: readonly Buffer[], position: number): Promise<void> {
    await this.#write(buffers, position)
    if (this.writesThrough) await this.sync()
  }

  #write(buffers: readonly Buffer[], position: number): Promise<void> {
    const node = this.#open()
    const { traced } = this.#disk.worker
    const digest = traced ? digestOfAll(buffers) : 0
    const bytes = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
    return this.#disk.worker.perform({
      kind: 'write',
      path: this.path,
      bytes,
      digest: digest ^ position,
      effect: () => {
        if (!this.#writable) throw failure('EBADF', this.path)
        if (traced)
          assert(digestOfAll(buffers) === digest, `a buffer was changed while it was being written to ${this.path}`)
        const written = node.write(buffers, position)
        if (written < bytes) throw failure('ENOSPC', this.path)
      },
      partly: (share) => {
        if (this.#writable) node.write(prefix(buffers, Math.floor(bytes * share)), position)
      },
    })
  }

  sync(): Promise<void> {
    const node = this.#open()
    const upTo = node.sequence
    return this.#disk.worker.perform({
      kind: 'sync',
      path: this.path,
      bytes: 0,
      digest: upTo,
      effect: () => node.sync(upTo),
      forget: () => node.forget(upTo),
    })
  }

  truncate(length: number): Promise<void> {
    const node = this.#open()
    return this.#perform('truncate', 0, length, () => {
      if (!this.#writable) throw failure('EINVAL', this.path)
      node.truncate(length)
    })
  }

  size(): Promise<number> {
    const node = this.#open()
    return this.#perform('stat', 0, 0, () => node.content.length)
  }

  close(): Promise<void> {
    this.#open()
    this.#closed = true
    this.#disk.closed(this)
    return this.#perform('stat', 0, 1, () => {})
  }

  #open(): FileNode {
    if (this.#closed) bug(`use of the closed file ${this.path}`)
    return this.#node
  }

  #perform<T>(kind: DiskOperation, bytes: number, digest: number, effect: () => T): Promise<T> {
    return this.#disk.worker.perform({ kind, path: this.path, bytes, digest, effect })
  }
}

function digestOfAll(buffers: readonly Buffer[]): number {
  let digest = 0
  for (const buffer of buffers) digest = digestOf(buffer, digest)
  return digest
}

function prefix(buffers: readonly Buffer[], bytes: number): Buffer[] {
  const result: Buffer[] = []
  let left = bytes
  for (const buffer of buffers) {
    if (left === 0) break
    result.push(buffer.subarray(0, left))
    left -= Math.min(left, buffer.length)
  }
  return result
}

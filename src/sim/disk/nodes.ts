import { FileContent } from './file-content.ts'
import type { FileTree } from './file-tree.ts'

export type Node = FileNode | DirectoryNode

export class DirectoryNode {
  /** What processes see. */
  readonly entries = new Map<string, Node>()
  /** What a power cut leaves for certain. Kept only by a tree with a journal. */
  readonly durable = new Map<string, Node>()
}

export interface FileChange {
  readonly sequence: number
  readonly kind: 'write' | 'truncate'
  /** Of the write, or the new length. */
  readonly position: number
  readonly bytes: Buffer
  /**
   * Its sync has failed. The kernel took the pages for clean all the same, so no later sync makes it durable
   * (fsyncgate), and only a power cut shows it.
   */
  forgotten: boolean
}

/** A file: what processes see, what is durable, and the changes that lead from the one to the other. */
export class FileNode {
  readonly content = new FileContent()
  modifiedMs: number
  /** Still has a name, as far as processes see. */
  linked = true
  durable: FileContent | null
  changes: FileChange[] = []
  sequence = 0
  readonly #tree: FileTree

  constructor(tree: FileTree, modifiedMs: number) {
    this.#tree = tree
    this.modifiedMs = modifiedMs
    this.durable = tree.journal ? new FileContent() : null
  }

  /** Writes as much as there is room for; returns the number of bytes. */
  write(buffers: readonly Buffer[], position: number): number {
    let at = position
    for (const buffer of buffers) {
      const lacking = Math.max(0, this.#growthTo(at + buffer.length) - this.#tree.freeBytes)
      const fitting = lacking === 0 ? buffer : buffer.subarray(0, Math.max(0, buffer.length - lacking))
      this.#put(fitting, at)
      at += fitting.length
      if (fitting.length < buffer.length) break
    }
    return at - position
  }

  truncate(length: number): void {
    this.#resized(length - this.content.length)
    this.content.truncate(length)
    this.#journal('truncate', length, EMPTY)
  }

  /** Changes up to `upTo` (a `sequence`) are durable from now on. */
  sync(upTo: number): void {
    const { durable } = this
    if (durable === null) return
    for (const change of this.changes) if (isCovered(change, upTo)) replay(durable, change)
    this.changes = this.changes.filter((change) => !isCovered(change, upTo))
  }

  /** The sync of these changes failed: see `FileChange.forgotten`. */
  forget(upTo: number): void {
    for (const change of this.changes) if (change.sequence <= upTo) change.forgotten = true
  }

  #put(bytes: Buffer, position: number): void {
    if (bytes.length === 0) return
    this.#resized(this.#growthTo(position + bytes.length))
    this.content.write(bytes, position)
    this.#journal('write', position, bytes)
  }

  #growthTo(end: number): number {
    return Math.max(0, end - this.content.length)
  }

  #resized(byBytes: number): void {
    this.modifiedMs = this.#tree.wallMs
    if (this.linked) this.#tree.resized(byBytes)
  }

  #journal(kind: FileChange['kind'], position: number, bytes: Buffer): void {
    if (this.durable === null) return
    // Its own copy: the writer may reuse its buffer as soon as the write is reported.
    this.changes.push({ sequence: ++this.sequence, kind, position, bytes: Buffer.from(bytes), forgotten: false })
  }
}

const EMPTY = Buffer.alloc(0)

function isCovered(change: FileChange, upTo: number): boolean {
  return change.sequence <= upTo && !change.forgotten
}

export function replay(content: FileContent, change: FileChange): void {
  if (change.kind === 'write') content.write(change.bytes, change.position)
  else content.truncate(change.position)
}

import { DiskError, type FileStat } from '../../env/disk.ts'
import { DirectoryNode, FileNode, type Node } from './nodes.ts'

/**
 * A file system in memory: what processes see. With `journal` it also keeps what is not durable yet, so that `losePower`
 * can take it away; without, it costs no more than the bytes themselves.
 */
export class FileTree {
  root: DirectoryNode
  readonly journal: boolean
  /** The size of the file system. */
  capacityBytes = Number.POSITIVE_INFINITY
  usedBytes = 0
  /** Names that changed and are not durable, oldest first. */
  nameChanges: NameChange[] = []
  /** Counts name changes, so that a sync covers exactly what was done before it began. */
  sequence = 0
  readonly #wallMs: () => number

  constructor(options: { readonly journal: boolean; readonly wallMs: () => number }) {
    this.journal = options.journal
    this.#wallMs = options.wallMs
    this.root = new DirectoryNode()
  }

  /** Another disk, with nothing on it. */
  clear(): void {
    this.root = new DirectoryNode()
    this.nameChanges = []
    this.usedBytes = 0
  }

  get freeBytes(): number {
    return Math.max(0, this.capacityBytes - this.usedBytes)
  }

  find(path: string): Node | null {
    let node: Node = this.root
    for (const name of namesOf(path)) {
      if (!(node instanceof DirectoryNode)) return null
      const below = node.entries.get(name)
      if (below === undefined) return null
      node = below
    }
    return node
  }

  file(path: string): FileNode {
    const node = this.find(path)
    if (node === null) throw failure(this.#isBelowFile(path) ? 'ENOTDIR' : 'ENOENT', path)
    if (node instanceof DirectoryNode) throw failure('EISDIR', path)
    return node
  }

  directory(path: string): DirectoryNode {
    const node = this.find(path)
    if (node === null) throw failure('ENOENT', path)
    if (node instanceof FileNode) throw failure('ENOTDIR', path)
    return node
  }

  open(path: string, mode: 'read' | 'write' | 'create' | 'exclusive'): FileNode {
    const node = this.find(path)
    if (node === null && (mode === 'create' || mode === 'exclusive')) {
      const { parent, name } = this.#place(path)
      const file = new FileNode(this, this.#wallMs())
      this.#change([{ directory: parent, name, node: file }])
      return file
    }
    if (node !== null && mode === 'exclusive') throw failure('EEXIST', path)
    return this.file(path)
  }

  stat(path: string): FileStat | null {
    const node = this.find(path)
    if (node === null) return null
    if (node instanceof FileNode) return { kind: 'file', bytes: node.content.length, modifiedMs: node.modifiedMs }
    return { kind: 'directory', bytes: 4096, modifiedMs: 0 }
  }

  list(path: string): string[] {
    return [...this.directory(path).entries.keys()].sort()
  }

  makeDirectory(path: string): void {
    let at = this.root
    for (const name of namesOf(path)) {
      const below = at.entries.get(name)
      if (below instanceof FileNode) throw failure('EEXIST', path)
      const next = below ?? new DirectoryNode()
      if (below === undefined) this.#change([{ directory: at, name, node: next }])
      at = next
    }
  }

  rename(from: string, to: string): void {
    const node = this.find(from)
    if (node === null) throw failure('ENOENT', from)
    const source = this.#place(from)
    const target = this.#place(to)
    if (`${to}/`.startsWith(`${from}/`)) {
      if (from === to) return
      throw failure('EINVAL', from)
    }
    const replaced = target.parent.entries.get(target.name)
    if (replaced instanceof DirectoryNode) {
      if (node instanceof FileNode) throw failure('EISDIR', to)
      if (replaced.entries.size > 0) throw failure('ENOTEMPTY', to)
    } else if (replaced !== undefined && node instanceof DirectoryNode) throw failure('ENOTDIR', to)
    // One change: a journalling file system never shows half a rename.
    this.#change([
      { directory: source.parent, name: source.name, node: null },
      { directory: target.parent, name: target.name, node },
    ])
    if (replaced instanceof FileNode) this.#unlinked(replaced)
  }

  removeFile(path: string): void {
    const file = this.file(path)
    const { parent, name } = this.#place(path)
    this.#change([{ directory: parent, name, node: null }])
    this.#unlinked(file)
  }

  removeTree(path: string): void {
    const node = this.find(path)
    if (node === null) return
    if (node instanceof DirectoryNode) {
      for (const name of [...node.entries.keys()]) this.removeTree(`${path}/${name}`)
      const { parent, name } = this.#place(path)
      this.#change([{ directory: parent, name, node: null }])
    } else this.removeFile(path)
  }

  /** Names in `directory` changed up to `upTo` (a `sequence`) are durable from now on. */
  syncDirectory(directory: DirectoryNode, upTo: number): void {
    const isCovered = (change: NameChange) =>
      change.sequence <= upTo && change.entries.some((entry) => entry.directory === directory)
    for (const change of this.nameChanges) if (isCovered(change)) change.makeDurable()
    this.nameChanges = this.nameChanges.filter((change) => !isCovered(change))
  }

  /** The bytes of a file grew or shrank. */
  resized(byBytes: number): void {
    this.usedBytes += byBytes
  }

  get wallMs(): number {
    return this.#wallMs()
  }

  #unlinked(file: FileNode): void {
    file.linked = false
    this.usedBytes -= file.content.length
  }

  #change(entries: readonly NameEntry[]): void {
    const change = new NameChange(++this.sequence, entries)
    change.apply()
    if (this.journal) this.nameChanges.push(change)
  }

  #place(path: string): { parent: DirectoryNode; name: string } {
    const names = namesOf(path)
    const name = names.at(-1)
    if (name === undefined) throw failure('EBUSY', path)
    return { parent: this.directory(`/${names.slice(0, -1).join('/')}`), name }
  }

  #isBelowFile(path: string): boolean {
    const names = [...namesOf(path)]
    while (names.pop() !== undefined) {
      const node = this.find(`/${names.join('/')}`)
      if (node !== null) return node instanceof FileNode
    }
    return false
  }
}

interface NameEntry {
  readonly directory: DirectoryNode
  readonly name: string
  /** What the name stands for from now on; null: nothing. */
  readonly node: Node | null
}

export class NameChange {
  readonly sequence: number
  readonly entries: readonly NameEntry[]

  constructor(sequence: number, entries: readonly NameEntry[]) {
    this.sequence = sequence
    this.entries = entries
  }

  apply(): void {
    for (const { directory, name, node } of this.entries) set(directory.entries, name, node)
  }

  makeDurable(): void {
    for (const { directory, name, node } of this.entries) set(directory.durable, name, node)
  }
}

function set(map: Map<string, Node>, name: string, node: Node | null): void {
  if (node === null) map.delete(name)
  else map.set(name, node)
}

const namesByPath = new Map<string, readonly string[]>()
/** Paths kept. */
const PATHS_MAX = 10_000

export function namesOf(path: string): readonly string[] {
  let names = namesByPath.get(path)
  if (names === undefined) {
    names = path.split('/').filter((name) => name !== '' && name !== '.')
    if (namesByPath.size >= PATHS_MAX) namesByPath.clear()
    namesByPath.set(path, names)
  }
  return names
}

export function failure(code: string, path: string): DiskError {
  return new DiskError(code, path, `${code}: ${path}`)
}

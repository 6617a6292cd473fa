import { assert } from '../../base/assert.ts'
import type { FileTree } from './file-tree.ts'
import type { DirectoryNode, FileNode } from './nodes.ts'

/** Harm to what is on the platter, which no process asked for: what processes see and what is durable change alike. */

/** Flips one bit, as a worn disk does. */
export function flipBit(file: FileNode, position: number, bit: number): void {
  for (const content of [file.content, file.durable]) {
    if (content === null) continue
    const byte = Buffer.alloc(1)
    if (content.read(byte, position) === 0) continue
    byte[0] = (byte[0] as number) ^ (1 << bit)
    content.write(byte, position)
  }
}

/** Puts `bytes` at `position`, as a write that was meant for another place does. */
export function overwrite(file: FileNode, position: number, bytes: Buffer): void {
  file.content.write(bytes, position)
  file.durable?.write(bytes, position)
}

/** The file holds `bytes` and nothing else. */
export function replaceContent(file: FileNode, bytes: Buffer): void {
  for (const content of [file.content, file.durable]) {
    content?.truncate(0)
    content?.write(bytes, 0)
  }
  // What was under way to the platter was meant for the file of before.
  file.changes = []
}

/** The name is gone, also after a power cut. */
export function loseName(tree: FileTree, path: string): void {
  const { parent, name } = placeOf(tree, path)
  parent.entries.delete(name)
  parent.durable.delete(name)
}

/** What either name stood for, the other does from now on. */
export function swapNames(tree: FileTree, onePath: string, otherPath: string): void {
  const [one, other] = [placeOf(tree, onePath), placeOf(tree, otherPath)]
  const [first, second] = [one.parent.entries.get(one.name), other.parent.entries.get(other.name)]
  assert(first !== undefined && second !== undefined, `${onePath} and ${otherPath} are there`)
  for (const map of ['entries', 'durable'] as const) {
    one.parent[map].set(one.name, second)
    other.parent[map].set(other.name, first)
  }
}

function placeOf(tree: FileTree, path: string): { parent: DirectoryNode; name: string } {
  const at = path.lastIndexOf('/')
  return { parent: tree.directory(path.slice(0, at)), name: path.slice(at + 1) }
}

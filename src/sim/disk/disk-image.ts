import { assert } from '../../base/assert.ts'
import { FileContent } from './file-content.ts'
import type { FileTree } from './file-tree.ts'
import { DirectoryNode, FileNode } from './nodes.ts'

/** What was durable on a disk at one instant: a copy of its own, as a snapshot of a volume is. */
export interface DiskImage {
  readonly root: DirectoryNode
}

/** A copy of what a power cut would leave of `tree` for certain. */
export function imageOf(tree: FileTree): DiskImage {
  assert(tree.journal, 'a disk without a journal knows nothing of what is durable')
  return { root: copied(tree.root, tree, 'durable') }
}

/** The disk becomes `image`. No process may use the tree's nodes from before any more. */
export function becomeImage(tree: FileTree, { root }: DiskImage): void {
  tree.clear()
  tree.root = copied(root, tree, 'entries')
  tree.usedBytes = bytesBelow(tree.root)
}

/** Of what processes see, or of what is durable; in the copy these are the same. */
function copied(directory: DirectoryNode, owner: FileTree, which: 'entries' | 'durable'): DirectoryNode {
  const copy = new DirectoryNode()
  for (const [name, node] of directory[which]) {
    const below = node instanceof DirectoryNode ? copied(node, owner, which) : copiedFile(node, owner, which)
    copy.entries.set(name, below)
    copy.durable.set(name, below)
  }
  return copy
}

function copiedFile(file: FileNode, owner: FileTree, which: 'entries' | 'durable'): FileNode {
  const copy = new FileNode(owner, file.modifiedMs)
  const content = which === 'durable' ? file.durable : file.content
  copy.content.replaceBy(content ?? new FileContent())
  copy.durable?.replaceBy(copy.content)
  return copy
}

function bytesBelow(directory: DirectoryNode): number {
  let bytes = 0
  for (const node of directory.entries.values()) {
    bytes += node instanceof DirectoryNode ? bytesBelow(node) : node.content.length
  }
  return bytes
}

import type { Random } from '../../base/random.ts'
import type { FileContent } from './file-content.ts'
import type { FileTree } from './file-tree.ts'
import { DirectoryNode, type FileChange, type FileNode, replay } from './nodes.ts'

/**
 * What a power cut does to changes that were not durable.
 * `all`: every one is lost. `none`: every one is kept, as if the cut had come after a write-back.
 * `any`: each meets its own fate, so any subset survives, whole, torn or as zeros.
 */
export type Loss = 'all' | 'none' | 'any'

/** Takes away what was not durable. No process may use the tree's nodes from before any more. */
export function losePower(tree: FileTree, random: Random, loss: Loss): void {
  loseNames(tree, random, loss)
  const files = new Set<FileNode>()
  takeDurable(tree.root, files)
  tree.usedBytes = 0
  for (const file of files) {
    loseContent(file, random, loss)
    file.linked = true
    tree.usedBytes += file.content.length
  }
}

function loseNames(tree: FileTree, random: Random, loss: Loss): void {
  // A file system journals names in order, but which of two directories' names reach the platter first is open. Skipping
  // any of them is the harder case; what is applied after a skipped one still finds the node itself.
  const lossChance = loss === 'any' ? random.pick([0, 0.1, 0.5, 0.9, 1]) : loss === 'all' ? 1 : 0
  for (const change of tree.nameChanges) if (!random.chance(lossChance)) change.makeDurable()
  tree.nameChanges = []
}

/** What is durable becomes what processes see; fills `files` with all there are. */
function takeDurable(directory: DirectoryNode, files: Set<FileNode>): void {
  directory.entries.clear()
  for (const [name, node] of directory.durable) {
    directory.entries.set(name, node)
    if (node instanceof DirectoryNode) takeDurable(node, files)
    else files.add(node)
  }
}

type Fate = 'lost' | 'kept' | 'torn' | 'holed' | 'zeroed' | 'stale'

/** Drawn per file, so that whole and broken tails both come up often enough. */
const MOODS: readonly (readonly Fate[])[] = [
  ['lost'],
  ['kept'],
  ['lost', 'kept'],
  ['kept', 'kept', 'torn'],
  ['kept', 'zeroed'],
  ['lost', 'kept', 'torn', 'holed', 'zeroed', 'stale'],
]

function loseContent(file: FileNode, random: Random, loss: Loss): void {
  const durable = file.durable as FileContent
  const mood = random.pick(MOODS)
  for (const change of file.changes) {
    const fate = loss === 'any' ? random.pick(mood) : loss === 'all' ? 'lost' : 'kept'
    // Pages that the kernel took for clean are dropped without ever being written.
    if (change.forgotten) continue
    survive(durable, change, fate, random)
  }
  file.changes = []
  file.content.replaceBy(durable)
}

function survive(content: FileContent, change: FileChange, fate: Fate, random: Random): void {
  if (fate === 'lost') return
  if (change.kind === 'truncate' || fate === 'kept') {
    replay(content, change)
    return
  }
  const bytes = damaged(content, change, fate, random)
  content.write(bytes, change.position)
}

function damaged(content: FileContent, { bytes, position }: FileChange, fate: Fate, random: Random): Buffer {
  const sector = random.pick([512, 4096])
  switch (fate) {
    case 'torn': {
      // The write stopped at a sector's edge.
      const end = Math.floor((position + random.below(bytes.length + 1)) / sector) * sector
      return bytes.subarray(0, Math.max(0, end - position))
    }
    case 'holed': {
      // Sectors survived one by one; the length is already the new one, what is missing reads as before or as zeros.
      const result = Buffer.alloc(bytes.length)
      content.read(result, position)
      for (let at = position; at < position + bytes.length; ) {
        const end = Math.min(position + bytes.length, (Math.floor(at / sector) + 1) * sector)
        if (random.chance(0.5)) bytes.copy(result, at - position, at - position, end - position)
        at = end
      }
      return result
    }
    case 'stale': {
      // The length was extended over blocks that still hold what they held before: here, an earlier part of the file.
      const result = Buffer.alloc(bytes.length)
      if (content.length > 0) content.read(result, random.below(Math.min(content.length, 2 ** 32)))
      return overExisting(content, result, position)
    }
    default:
      // The length reached the disk, the data did not.
      return overExisting(content, Buffer.alloc(bytes.length), position)
  }
}

/** Only blocks that the file did not have before can hold zeros or something else: an overwrite that is lost leaves the old. */
function overExisting(content: FileContent, bytes: Buffer, position: number): Buffer {
  const overlap = Math.min(bytes.length, Math.max(0, content.length - position))
  if (overlap > 0) content.read(bytes.subarray(0, overlap), position)
  return bytes
}

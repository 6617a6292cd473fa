import { assert } from './assert.ts'

/**
 * Memory for large byte strings that is used again instead of being left to the garbage collector. V8 counts the bytes
 * behind buffers and, while megabytes a second of them come and go, marks its whole heap many times a second: that cost
 * more than all the rest of a produce request (docs/decisions/0003-large-buffers-are-used-again.md).
 *
 * A block has holders, counted. Who takes it is the first; whoever keeps bytes of it beyond the call that showed them to
 * him holds it too, and lets go of it once. When the last holder lets go, the bytes belong to whoever takes a block next.
 * Forgetting to let go is harmless: the garbage collector frees the block then. Letting go too early is not: somebody's
 * records change under their CRC (reliability X7). Tests therefore poison what is let go.
 *
 * All functions take any view of a block, and ignore buffers that are no part of one.
 */
interface Block {
  readonly memory: Buffer
  holders: number
}

/** Outside of these sizes blocks are ordinary buffers: too small to matter, or too large to be kept. */
const BLOCK_BYTES_MIN = 4 * 1024
const BLOCK_BYTES_MAX = 8 * 1024 ** 2
/** Free blocks are kept up to this, all nodes of the process together. */
const FREE_BYTES_MAX = 32 * 1024 ** 2
const POISON = 0xdb

const blocks = new WeakMap<ArrayBufferLike, Block>()
/** By size, the size used least recently first. Of one size the block used last is given first: it is in the caches. */
const free = new Map<number, Block[]>()
let freeBytes = 0
/** The least of `freeBytes` since the last trim: so much was not needed meanwhile. */
let spareBytes = 0
let isPoisoning = false
let latest: Block[] | null = null

/** A buffer of exactly `bytes`, with arbitrary content. The caller holds it. */
export function takeBlock(bytes: number): Buffer {
  if (bytes < BLOCK_BYTES_MIN || bytes > BLOCK_BYTES_MAX) return Buffer.allocUnsafeSlow(bytes)
  const size = sizeFor(bytes)
  let block = ofSize(size).pop()
  if (block === undefined) {
    block = { memory: Buffer.allocUnsafeSlow(size), holders: 0 }
    blocks.set(block.memory.buffer, block)
  } else {
    freeBytes -= size
    spareBytes = Math.min(spareBytes, freeBytes)
  }
  assert(block.holders === 0, `a free block has ${block.holders} holders`)
  block.holders = 1
  return block.memory.subarray(0, bytes)
}

/** One holder more. */
export function holdBlock(view: Buffer): void {
  const block = blocks.get(view.buffer)
  if (block === undefined) return
  assert(block.holders > 0, 'a block is held that nobody holds any more')
  block.holders++
}

/** One holder less, who must not look at the bytes any more. */
export function letGoBlock(view: Buffer): void {
  const block = blocks.get(view.buffer)
  if (block === undefined) return
  assert(block.holders > 0, 'a block is let go more often than it is held')
  if (--block.holders === 0) keep(block)
}

export function letGoBlocks(views: readonly Buffer[]): void {
  for (const view of views) letGoBlock(view)
}

/** Bytes of free blocks that are kept. */
export function freeBlockBytes(): number {
  return freeBytes
}

/** Gives back what has been free all the time since the last call. */
export function trimFreeBlocks(): void {
  dropDownTo(freeBytes - spareBytes)
  spareBytes = freeBytes
}

/** Gives back all that is free. */
export function dropFreeBlocks(): void {
  dropDownTo(0)
}

/** For tests and the simulator: a block that is let go changes its content at once. */
export function poisonFreeBlocks(): void {
  isPoisoning = true
}

function keep(block: Block): void {
  const { memory } = block
  if (isPoisoning) memory.fill(POISON)
  // Rather the sizes that nobody asks for any more than this one: what is wanted changes with the clients.
  dropDownTo(FREE_BYTES_MAX - memory.length)
  ofSize(memory.length).push(block)
  freeBytes += memory.length
}

/** The free blocks of one size, which is now the one used most recently. */
function ofSize(size: number): Block[] {
  const same = free.get(size)
  if (same !== undefined && same === latest) return same
  latest = same ?? []
  free.delete(size)
  free.set(size, latest)
  return latest
}

function dropDownTo(bytes: number): void {
  for (const [size, same] of free) {
    while (freeBytes > bytes && same.length > 0) {
      same.pop()
      freeBytes -= size
    }
    if (freeBytes <= bytes) break
    free.delete(size)
    if (same === latest) latest = null
  }
  spareBytes = Math.min(spareBytes, freeBytes)
}

/** Four sizes between one power of two and the next: at most a fifth of a block is not used. */
function sizeFor(bytes: number): number {
  const step = 2 ** (29 - Math.clz32(bytes - 1))
  return Math.ceil(bytes / step) * step
}

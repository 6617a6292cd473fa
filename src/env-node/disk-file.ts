import fs from 'node:fs'
import { assert } from '../base/assert.ts'
import { DiskError, type DiskFile, isOutOfSpace } from '../env/disk.ts'
import { call } from './disk-error.ts'

/** A file on libuv's thread pool. Closed exactly once by its owner, when nothing is outstanding. */
export class NodeDiskFile implements DiskFile {
  readonly path: string
  readonly writesThrough: boolean
  #descriptor: number
  /** The first failed sync, or write that was to be one. The kernel forgets it (the pages count as clean afterwards), so we must not. */
  #poison: DiskError | null = null

  constructor(path: string, descriptor: number, { writesThrough }: { writesThrough: boolean }) {
    this.path = path
    this.writesThrough = writesThrough
    this.#descriptor = descriptor
  }

  #open(): number {
    assert(this.#descriptor >= 0, `use of the closed file ${this.path}`)
    return this.#descriptor
  }

  async read(buffer: Buffer, position: number): Promise<number> {
    const descriptor = this.#open()
    let filled = 0
    while (filled < buffer.length) {
      const count = await call<number>(this.path, (done) =>
        fs.read(descriptor, buffer, filled, buffer.length - filled, position + filled, done),
      )
      if (count === 0) break
      filled += count
    }
    return filled
  }

  async write(buffers: readonly Buffer[], position: number): Promise<void> {
    if (!this.writesThrough) return this.#write(buffers, position)
    if (this.#poison) throw this.#poison
    try {
      await this.#write(buffers, position)
    } catch (error) {
      if (!isOutOfSpace(error)) this.#poison ??= error as DiskError
      throw error
    }
  }

  async #write(buffers: readonly Buffer[], position: number): Promise<void> {
    const descriptor = this.#open()
    let rest = buffers
    let at = position
    let left = totalBytes(buffers)
    while (left > 0) {
      const count = await call<number>(this.path, (done) => fs.writev(descriptor, rest, at, done))
      // A write of nothing that is no error would repeat for ever.
      if (count === 0) throw new DiskError('EIO', this.path, `wrote 0 of ${left} bytes at ${at} of ${this.path}`)
      at += count
      left -= count
      if (left > 0) rest = without(rest, count)
    }
  }

  async sync(): Promise<void> {
    const descriptor = this.#open()
    if (this.#poison) throw this.#poison
    try {
      await call<void>(this.path, (done) => fs.fdatasync(descriptor, done))
    } catch (error) {
      this.#poison ??= error as DiskError
      throw error
    }
  }

  truncate(length: number): Promise<void> {
    const descriptor = this.#open()
    return call(this.path, (done) => fs.ftruncate(descriptor, length, done))
  }

  async size(): Promise<number> {
    const descriptor = this.#open()
    const stat = await call<fs.Stats>(this.path, (done) => fs.fstat(descriptor, done))
    return stat.size
  }

  close(): Promise<void> {
    const descriptor = this.#open()
    this.#descriptor = -1
    return call(this.path, (done) => fs.close(descriptor, done))
  }
}

function totalBytes(buffers: readonly Buffer[]): number {
  let total = 0
  for (const buffer of buffers) total += buffer.length
  return total
}

/** What is left of `buffers` once their first `count` bytes are gone. */
function without(buffers: readonly Buffer[], count: number): Buffer[] {
  const rest: Buffer[] = []
  let skip = count
  for (const buffer of buffers) {
    if (skip >= buffer.length) skip -= buffer.length
    else {
      rest.push(skip > 0 ? buffer.subarray(skip) : buffer)
      skip = 0
    }
  }
  return rest
}

import fs from 'node:fs'
import { dirname } from 'node:path'
import type { Disk, FileStat } from '../env/disk.ts'
import { DiskError } from '../env/disk.ts'
import { call } from './disk-error.ts'
import { NodeDiskFile } from './disk-file.ts'
import { takeLock } from './folder-lock.ts'

const { O_CREAT, O_DSYNC, O_EXCL, O_RDONLY, O_RDWR } = fs.constants
/** Not every system has it. */
const CAN_WRITE_THROUGH = O_DSYNC !== undefined
const OPEN_FLAGS = {
  read: O_RDONLY,
  write: O_RDWR,
  create: O_RDWR | O_CREAT,
  exclusive: O_RDWR | O_CREAT | O_EXCL,
  durable: O_RDWR | O_CREAT | (O_DSYNC ?? 0),
}

/** Without a bound of the caller's own; far above every file that is read whole (checkpoints, indexes, snapshots). */
const READ_FILE_BYTES_MAX = 2 ** 30

/** The file system through `node:fs`, on libuv's thread pool, off the event loop. */
export const nodeDisk: Disk = {
  async open(path, mode) {
    const descriptor = await call<number>(path, (done) => fs.open(path, OPEN_FLAGS[mode], 0o644, done))
    return new NodeDiskFile(path, descriptor, { writesThrough: mode === 'durable' && CAN_WRITE_THROUGH })
  },

  async stat(path): Promise<FileStat | null> {
    try {
      const stat = await call<fs.Stats>(path, (done) => fs.stat(path, done))
      return { kind: stat.isDirectory() ? 'directory' : 'file', bytes: stat.size, modifiedMs: Math.floor(stat.mtimeMs) }
    } catch (error) {
      if (error instanceof DiskError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null
      throw error
    }
  },

  async list(path) {
    const names = await call<string[]>(path, (done) => fs.readdir(path, done))
    return names.sort()
  },

  /** Step by step: Node's own recursion never ends where a file system lets nobody make directories (/proc). */
  async makeDirectory(path) {
    try {
      await call(path, (done) => fs.mkdir(path, done))
    } catch (error) {
      if (!(error instanceof DiskError)) throw error
      if ((await this.stat(path))?.kind === 'directory') return
      const parent = dirname(path)
      if (error.code !== 'ENOENT' || parent === path || (await this.stat(parent)) !== null) throw error
      await this.makeDirectory(parent)
      await this.makeDirectory(path)
    }
  },

  async rename(from, to) {
    await call(from, (done) => fs.rename(from, to, done))
  },

  async removeFile(path) {
    await call(path, (done) => fs.unlink(path, done))
  },

  async removeTree(path) {
    await call(path, (done) => fs.rm(path, { recursive: true, force: true }, done))
  },

  async syncDirectory(path) {
    const descriptor = await call<number>(path, (done) => fs.open(path, O_RDONLY | fs.constants.O_DIRECTORY, 0, done))
    try {
      await call(path, (done) => fs.fsync(descriptor, done))
    } finally {
      await call(path, (done) => fs.close(descriptor, done))
    }
  },

  async readFile(path, maxBytes = READ_FILE_BYTES_MAX) {
    const file = await this.open(path, 'read')
    try {
      const bytes = await file.size()
      if (bytes > maxBytes)
        throw new DiskError('EFBIG', path, `${path} has ${bytes} bytes, at most ${maxBytes} are read`)
      const buffer = Buffer.allocUnsafe(bytes)
      return buffer.subarray(0, await file.read(buffer, 0))
    } finally {
      await file.close()
    }
  },

  async space(path) {
    const { bavail, blocks, bsize } = await call<fs.StatsFs>(path, (done) => fs.statfs(path, done))
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  },

  async lock(path) {
    return takeLock(path)
  },
}

import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { DiskError, type DiskLock } from '../env/disk.ts'

const require = createRequire(import.meta.url)

/** Held for the life of the process: a collected `DatabaseSync` would close its file and so let go of the lock. */
const held = new Set<DatabaseSync>()

const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_CANTOPEN = 14

/**
 * Node offers neither flock nor fcntl locks, but carries SQLite, whose exclusive transaction is a POSIX write lock on
 * the database file. The kernel grants it to one process only and takes it back when that process dies, however it
 * dies, so there is no stale lock to judge and no race to lose. It is the same kind of lock that Apache Kafka's broker
 * takes on its `.lock`, so the two exclude each other too. Unlike an abstract socket it also holds between containers
 * that share a volume.
 *
 * The file stays empty. POSIX drops a process's lock when the process closes *any* descriptor of the file: nothing else
 * here may open it.
 *
 * Returns null when another process, or this one, holds the lock.
 */
export function takeLock(file: string): DiskLock | null {
  // Loaded at the first use: the commands that take no lock shall not pay for it.
  const sqlite = require('node:sqlite') as typeof import('node:sqlite')
  let database: DatabaseSync | null = null
  try {
    database = new sqlite.DatabaseSync(file)
    // Without a journal on disk nothing but the lock file itself is ever created.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    const { errcode, message } = error as Error & { errcode?: number }
    if (errcode === SQLITE_BUSY || errcode === SQLITE_LOCKED) return null
    throw new DiskError(codeOf(errcode, file), file, `cannot lock ${file}: ${message}`, { cause: error })
  }
  const lock = database
  held.add(lock)
  return {
    async unlock() {
      if (!held.delete(lock)) return
      lock.close()
    },
  }
}

function codeOf(errcode: number | undefined, file: string): string {
  if (errcode !== SQLITE_CANTOPEN) return 'EIO'
  return fs.existsSync(path.dirname(file)) ? 'EACCES' : 'ENOENT'
}

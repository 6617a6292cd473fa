import { type Disk, DiskError } from '../env/disk.ts'
import { TEMPORARY_SUFFIX } from './file-names.ts'

/** Bound for every small file we read whole: checkpoints, snapshots, properties. */
export const SMALL_FILE_BYTES_MAX = 64 * 1024 ** 2

/**
 * Replaces the file at `path` so that after a crash it is either the old or the new one (reliability S8): written
 * aside, synced, renamed; then its directory is synced.
 */
export async function replaceFile(disk: Disk, path: string, content: readonly Buffer[]): Promise<void> {
  const aside = path + TEMPORARY_SUFFIX
  const file = await disk.open(aside, 'create')
  try {
    await file.truncate(0)
    await file.write(content, 0)
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.rename(aside, path)
  await disk.syncDirectory(directoryOf(path))
}

/**
 * Makes the directory at `path`, with its parents, so that a power cut cannot take its name away. An earlier process may
 * have made it and died before its name was durable, so the name is synced also when it is there.
 */
export async function makeDurableDirectory(disk: Disk, path: string): Promise<void> {
  const parent = path.includes('/') ? directoryOf(path) : '.'
  if ((await disk.stat(parent)) === null) await makeDurableDirectory(disk, parent)
  await disk.makeDirectory(path)
  await disk.syncDirectory(parent)
}

/**
 * The same for a file that is derived: not synced, so after a power cut it may be empty or torn, which its reader must
 * notice. After a kill it is the old or the new one.
 */
export async function replaceDerivedFile(disk: Disk, path: string, content: Buffer): Promise<void> {
  const aside = path + TEMPORARY_SUFFIX
  const file = await disk.open(aside, 'create')
  try {
    await file.truncate(0)
    await file.write([content], 0)
  } finally {
    await file.close()
  }
  await disk.rename(aside, path)
}

/** The whole file, or null when there is none. */
export async function readFileIfThere(disk: Disk, path: string): Promise<Buffer | null> {
  try {
    return await disk.readFile(path, SMALL_FILE_BYTES_MAX)
  } catch (error) {
    if (error instanceof DiskError && error.code === 'ENOENT') return null
    throw error
  }
}

export async function removeIfThere(disk: Disk, path: string): Promise<void> {
  try {
    await disk.removeFile(path)
  } catch (error) {
    if (!(error instanceof DiskError && error.code === 'ENOENT')) throw error
  }
}

/** Renames when there is something to rename. */
export async function renameIfThere(disk: Disk, from: string, to: string): Promise<void> {
  try {
    await disk.rename(from, to)
  } catch (error) {
    if (!(error instanceof DiskError && error.code === 'ENOENT')) throw error
  }
}

export function directoryOf(path: string): string {
  const slash = path.lastIndexOf('/')
  if (slash < 0) return '.'
  return slash === 0 ? '/' : path.slice(0, slash)
}

import { constants, existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { descriptorLimit } from '../../env-node/descriptor-limit.ts'
import { DiskError } from '../../env/disk.ts'
import { nodeDisk } from '../../env-node/disk.ts'
import { memoryLimit } from '../../env-node/memory-limit.ts'
import { readCleanShutdown } from '../../storage/clean-shutdown.ts'
import { DataFolderError } from '../../storage/errors.ts'
import { refuseNodeFolders } from '../../storage/data-folder.ts'
import { FOLDER_LOCK, mayBeNodeFolder } from '../../storage/file-names.ts'
import { readMetaProperties } from '../../storage/meta-properties.ts'
import { type Finding, findings } from './finding.ts'
import { checkDescriptors, checkMemory, checkSpace, checkSync, type SyncTimes } from './limits.ts'

/** Looks at a data folder and the machine under it, whether a node uses it or not. */
export async function checkFolder(folder: string): Promise<Finding[]> {
  const { fail } = findings(folder)
  if (!existsSync(folder)) return [fail('folder', 'there is no such folder', 'name the folder of --data or log.dirs')]
  if (!statSync(folder).isDirectory())
    return [fail('folder', 'it is a file and no folder', 'name the folder of --data or log.dirs')]
  const owner = ownerOf(folder)
  return [
    ...(await checkIdentity(folder, owner)),
    checkSpace(folder, await spaceOf(folder)),
    await checkWrites(folder),
    checkDescriptors('this machine', descriptorLimitOf(owner) ?? Number.MAX_SAFE_INTEGER),
    checkMemory('this machine', memoryLimit()),
  ]
}

async function checkIdentity(folder: string, owner: number | null): Promise<Finding[]> {
  const { ok, warn, fail } = findings(folder)
  try {
    await refuseNodeFolders({ disk: nodeDisk }, folder, readdirSync(folder).filter(mayBeNodeFolder))
    const meta = await readMetaProperties(nodeDisk, folder)
    if (meta === null) return [ok('folder', 'of no cluster yet: a node that starts here makes one, or joins one')]
    const whose = ok('folder', `node ${meta.nodeId} of cluster ${meta.clusterId}`)
    if (owner !== null) return [whose, ok('process', `used by process ${owner}`)]
    const isClean = (await readCleanShutdown(nodeDisk, folder)) !== null
    return [whose, isClean ? ok('process', 'stopped cleanly') : warn('process', ...NOT_CLEAN)]
  } catch (error) {
    if (error instanceof DiskError) return [fail('folder', error.message, NOT_ALLOWED)]
    if (!(error instanceof DataFolderError)) throw error
    if (error.reason === 'other-node') return [fail('folder', error.message, 'name one of these folders')]
    return [fail('folder', error.message, 'restore meta.properties of the same node, or start with an empty folder')]
  }
}

const NOT_CLEAN = [
  'nobody uses it, and its last stop was not clean',
  'nothing: the next start checks the ends of its logs',
] as const

async function spaceOf(folder: string) {
  const { blocks, bavail, bsize } = await statfs(folder)
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize, isFull: false }
}

const NOT_ALLOWED = 'the user that runs the node must be able to write to the folder'
const BLOCK_BYTES = 4096
const WRITES_MAX = 500
const WRITES_FOR_MS = 2000

async function checkWrites(folder: string): Promise<Finding> {
  try {
    return checkSync(folder, await measureWrites(folder))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const advice = code === 'ENOSPC' ? 'make room: a node needs some to start' : NOT_ALLOWED
    return findings(folder).fail('fsync', `cannot be written to: ${message}`, advice)
  }
}

/** As a node writes its logs: each write returns when it is on disk. */
export async function measureWrites(folder: string): Promise<SyncTimes> {
  // One name for all: what a doctor left that was killed, the next one takes over.
  const path = join(folder, '.doctor')
  const { O_CREAT, O_TRUNC, O_NOFOLLOW, O_WRONLY, O_DSYNC } = constants
  const file = await open(path, O_CREAT | O_TRUNC | O_NOFOLLOW | O_WRONLY | O_DSYNC, 0o600)
  try {
    const block = Buffer.alloc(BLOCK_BYTES, 0x6d)
    const timesMs: number[] = []
    const endMs = performance.now() + WRITES_FOR_MS
    while (timesMs.length < WRITES_MAX && performance.now() < endMs) {
      const startMs = performance.now()
      await file.write(block, 0, BLOCK_BYTES, timesMs.length * BLOCK_BYTES)
      timesMs.push(performance.now() - startMs)
    }
    timesMs.sort((left, right) => left - right)
    const at = (part: number) => timesMs[Math.min(timesMs.length - 1, Math.floor(timesMs.length * part))] ?? 0
    return { count: timesMs.length, p50Ms: at(0.5), p99Ms: at(0.99) }
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
}

/** The process that has the folder's lock open; null: none that may be looked at. */
function ownerOf(folder: string): number | null {
  const lock = join(realpathSync(folder), FOLDER_LOCK)
  const ids = list('/proc').filter((name) => /^\d+$/.test(name))
  const owner = ids.find((id) => list(`/proc/${id}/fd`).some((file) => linkOf(`/proc/${id}/fd/${file}`) === lock))
  return owner === undefined ? null : Number(owner)
}

/** Of the node that runs; else what one that is started from here would have. */
function descriptorLimitOf(owner: number | null): number | null {
  if (owner === null) return descriptorLimit()
  try {
    const match = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${owner}/limits`, 'utf8'))
    return match === null ? null : Number(match[1])
  } catch {
    return null
  }
}

/** Processes come and go, and others' are not shown. */
function list(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

import type { Env } from '../env/env.ts'
import { DataFolderError } from '../storage/errors.ts'
import { FOLDER_LOCK, META_PROPERTIES, parsePartitionDirectory, TEMPORARY_SUFFIX } from '../storage/file-names.ts'
import { LogManager, type LogManagerOptions } from '../storage/log-manager.ts'

/**
 * Takes the data folder for this process. An empty one becomes a new cluster's; one that holds something else than a
 * node's data is refused, as it was most likely named by mistake. Rejects with `DataFolderError`.
 */
export async function takeDataFolder(
  env: Env,
  options: Pick<LogManagerOptions, 'folder' | 'nodeId' | 'reserveBytes' | 'openFilesMax'>,
): Promise<LogManager> {
  const { folder } = options
  const isOurs = (await env.disk.stat(`${folder}/${META_PROPERTIES}`)) !== null
  if (!isOurs) await refuseForeignFolder(env, folder)
  const clusterId = isOurs ? null : env.randomBytes(16).toString('base64url')
  return LogManager.open(env, { ...options, clusterId })
}

async function refuseForeignFolder(env: Env, folder: string): Promise<void> {
  const there = await env.disk.stat(folder)
  if (there === null) return
  if (there.kind !== 'directory') throw new DataFolderError('unreadable', `${folder} is a file, not a folder`)
  const names = await env.disk.list(folder)
  const foreign = names.filter((name) => !BEFORE_ALL.includes(name) && parsePartitionDirectory(name) === null)
  if (foreign.length === 0) return
  const shown = foreign.slice(0, 3).join(', ')
  throw new DataFolderError(
    'unreadable',
    `${folder} is not empty and holds no ${META_PROPERTIES}: it is not a data folder (there is ${shown}${foreign.length > 3 ? ', …' : ''})`,
  )
}

/**
 * What may lie in a folder that is nobody's yet: the beginning of a first start that a crash has cut short, and what is in
 * the root of every fresh ext4 file system.
 */
const BEFORE_ALL = [FOLDER_LOCK, META_PROPERTIES + TEMPORARY_SUFFIX, 'lost+found']

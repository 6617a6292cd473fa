import type { Env } from '../env/env.ts'
import { DataFolderError } from '../storage/errors.ts'
import { FOLDER_LOCK, META_PROPERTIES, parsePartitionDirectory } from '../storage/file-names.ts'
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
  const foreign = names.filter(
    (name) => name !== FOLDER_LOCK && name !== LOST_AND_FOUND && parsePartitionDirectory(name) === null,
  )
  if (foreign.length === 0) return
  const shown = foreign.slice(0, 3).join(', ')
  throw new DataFolderError(
    'unreadable',
    `${folder} is not empty and holds no ${META_PROPERTIES}: it is not a data folder (there is ${shown}${foreign.length > 3 ? ', …' : ''})`,
  )
}

/** In the root of every fresh ext4 file system. */
const LOST_AND_FOUND = 'lost+found'

import type { Env } from '../env/env.ts'
import { ALONE, type Membership } from './config/membership-config.ts'
import { JOINED_FILE } from './join/joined-file.ts'
import { refuseNodeFolders } from '../storage/data-folder.ts'
import { DataFolderError } from '../storage/errors.ts'
import { FOLDER_LOCK, META_PROPERTIES, parsePartitionDirectory, TEMPORARY_SUFFIX } from '../storage/file-names.ts'
import { LogManager, type LogManagerOptions } from '../storage/log-manager.ts'

/**
 * Takes the data folder for this process. An empty one becomes the new or named cluster's; one that holds something else than a
 * node's data is refused, as it was most likely named by mistake. Rejects with `DataFolderError`.
 */
export async function takeDataFolder(
  env: Env,
  options: Pick<LogManagerOptions, 'folder' | 'nodeId' | 'reserveBytes' | 'openFilesMax'>,
  cluster: Pick<Membership, 'clusterId' | 'forms'> = ALONE,
): Promise<LogManager> {
  const { folder } = options
  await refuseForeignFolder(env, folder)
  const isOurs = (await env.disk.stat(`${folder}/${META_PROPERTIES}`)) !== null
  // Where the cluster is known already, a folder of another one is refused.
  const isNew = !isOurs && cluster.forms
  const clusterId = isNew ? env.randomBytes(16).toString('base64url') : cluster.clusterId
  return LogManager.open(env, { ...options, clusterId })
}

/** Rejects with `DataFolderError` when the folder is somebody else's: it was most likely named by mistake. */
export async function refuseForeignFolder(env: Env, folder: string): Promise<void> {
  if ((await env.disk.stat(`${folder}/${META_PROPERTIES}`)) !== null) return
  const there = await env.disk.stat(folder)
  if (there === null) return
  if (there.kind !== 'directory') throw new DataFolderError('unreadable', `${folder} is a file, not a folder`)
  const names = await env.disk.list(folder)
  await refuseNodeFolders(
    env,
    folder,
    names.filter((name) => parsePartitionDirectory(name) !== null),
  )
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
const BEFORE_ALL = [
  FOLDER_LOCK,
  META_PROPERTIES + TEMPORARY_SUFFIX,
  JOINED_FILE,
  JOINED_FILE + TEMPORARY_SUFFIX,
  'lost+found',
]

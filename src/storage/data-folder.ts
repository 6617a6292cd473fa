import type { DiskLock } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import type { TopicPartition } from '../model/ids.ts'
import { Checkpoints } from './checkpoints.ts'
import { readCleanShutdown, removeCleanShutdown } from './clean-shutdown.ts'
import { DataFolderError } from './errors.ts'
import { isDeletedDirectory, mayBeNodeFolder, META_PROPERTIES, parsePartitionDirectory } from './file-names.ts'
import { directoryOf } from './files.ts'
import { type MetaProperties, readMetaProperties, writeMetaProperties } from './meta-properties.ts'

/** Who takes the folder. */
export interface FolderOwner {
  readonly folder: string
  readonly nodeId: number
  /** Null: whatever the folder says; an empty folder is refused then. */
  readonly clusterId: string | null
}

/** A data folder that this process has taken. */
export interface OpenedFolder {
  readonly lock: DiskLock
  readonly meta: MetaProperties
  readonly found: readonly TopicPartition[]
  /** Directories whose removal a stop has cut short. */
  readonly deleted: readonly string[]
  readonly previousBrokerEpoch: number | null
  readonly checkpoints: Checkpoints
}

export async function openFolder(env: Env, options: FolderOwner, lock: DiskLock): Promise<OpenedFolder> {
  const { folder } = options
  // After a kill, names may be there that no sync has covered yet; what is built on them must not go with the power.
  await env.disk.syncDirectory(folder)
  await env.disk.syncDirectory(directoryOf(folder))
  const meta = await settleMeta(env, options)
  const names = await env.disk.list(folder)
  await refuseNodeFolders(env, folder, names.filter(mayBeNodeFolder))
  const found = names.flatMap((name) => parsePartitionDirectory(name) ?? [])
  const clean = await readCleanShutdown(env.disk, folder)
  const checkpoints = await Checkpoints.load(env, folder, { isClean: clean !== null, found })
  // From now on a missing file means that it was lost.
  if (found.length === 0) await checkpoints.writeEmpty()
  // Before anything is appended: the next stop may be a crash.
  if (clean !== null) await removeCleanShutdown(env.disk, folder)
  const deleted = names.filter(isDeletedDirectory)
  return { lock, meta, found, deleted, previousBrokerEpoch: clean?.brokerEpoch ?? null, checkpoints }
}

/** Rejects with `DataFolderError` where one of the directories in `folder` is the data folder of a node: none of it is ours. */
export async function refuseNodeFolders(
  env: Pick<Env, 'disk'>,
  folder: string,
  names: readonly string[],
): Promise<void> {
  const nodes: string[] = []
  for (const name of names) {
    if ((await env.disk.stat(`${folder}/${name}/${META_PROPERTIES}`)) !== null) nodes.push(name)
  }
  if (nodes.length === 0) return
  const shown = `${nodes.slice(0, 5).join(', ')}${nodes.length > 5 ? ', …' : ''}`
  const message = `${folder} holds the data folders of other nodes (${shown}): millrace start --nodes ${nodes.length} runs those, and this node needs a data folder of its own`
  throw new DataFolderError('other-node', message)
}

async function settleMeta(env: Env, { folder, clusterId, nodeId }: FolderOwner): Promise<MetaProperties> {
  const found = await readMetaProperties(env.disk, folder)
  if (found !== null && clusterId !== null && found.clusterId !== clusterId) {
    const message = `${folder} belongs to cluster ${found.clusterId}, this node to cluster ${clusterId}`
    throw new DataFolderError('other-cluster', message)
  }
  if (found !== null && found.nodeId !== nodeId) {
    throw new DataFolderError('other-node', `${folder} belongs to node ${found.nodeId}, this is node ${nodeId}`)
  }
  if (found !== null && found.directoryId !== '') return found
  if (found === null && clusterId === null) {
    throw new DataFolderError('unreadable', `${folder} belongs to no cluster yet, and none was named`)
  }
  const directoryId = env.randomBytes(16).toString('base64url')
  const meta = { clusterId: found?.clusterId ?? (clusterId as string), nodeId, directoryId }
  await writeMetaProperties(env.disk, folder, meta)
  return meta
}

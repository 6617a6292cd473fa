import { MalformedError } from '../base/bytes.ts'
import type { Env } from '../env/env.ts'
import {
  type LoadedSnapshot,
  parseSnapshotFileName,
  readSnapshot,
  type SnapshotId,
  snapshotFileName,
} from './snapshot-file.ts'

/** Why the metadata of this node was not loaded. The message is meant for the operator. Nothing was changed. */
export class MetadataUnreadableError extends Error {
  override name = 'MetadataUnreadableError'
}

/** The snapshots in the metadata folder, oldest first. */
export async function listSnapshots(env: Env, folder: string): Promise<SnapshotId[]> {
  const names = await env.disk.list(folder)
  // Names sort as offset and epoch do, being padded.
  return names.sort().flatMap((name) => parseSnapshotFileName(name) ?? [])
}

/**
 * The newest snapshot that is whole and that the log goes on from; null when there is none and the log has everything.
 * A damaged one is passed over with an error in the log. When neither a snapshot nor the log has the whole state,
 * nothing is loaded at all: part of the metadata would look like topics that do not exist.
 */
export async function loadNewestSnapshot(
  env: Env,
  folder: string,
  log: { readonly startOffset: number; readonly endOffset: number },
): Promise<LoadedSnapshot | null> {
  const ids = await listSnapshots(env, folder)
  const damaged: string[] = []
  for (const id of ids.toReversed()) {
    const name = snapshotFileName(id)
    if (id.offset < log.startOffset) break
    try {
      return await readSnapshot(env.disk, folder, id)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      damaged.push(`${name} is damaged (${error.message})`)
      env.log.error('A metadata snapshot is damaged; trying the one before', { file: name, reason: error.message })
    }
  }
  if (log.startOffset === 0 && log.endOffset > 0) return null
  if (damaged.length === 0 && log.endOffset === 0) return null
  throw new MetadataUnreadableError(
    `The metadata in ${folder} cannot be loaded: the log begins at offset ${log.startOffset}, and no whole snapshot ` +
      `reaches it. ${damaged.join('. ') || 'There is no snapshot'}. Restore a snapshot from a backup or another node.`,
  )
}

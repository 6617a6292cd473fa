import type { Disk } from '../env/disk.ts'
import type { TopicId } from '../model/ids.ts'
import { PARTITION_METADATA } from './file-names.ts'
import { readFileIfThere } from './files.ts'

/** The file `partition.metadata`: to which topic a partition's directory belongs. */
export async function readPartitionMetadata(disk: Disk, directory: string): Promise<TopicId | null> {
  const content = await readFileIfThere(disk, `${directory}/${PARTITION_METADATA}`)
  if (content === null) return null
  const match = /^version:\s*0\r?\ntopic_id:\s*([A-Za-z0-9_-]{22})\s*$/.exec(content.toString('utf8'))
  return match === null ? null : (match[1] as TopicId)
}

/** Not synced: `syncPartitionMetadata` does that before the log acknowledges anything. */
export async function writePartitionMetadata(disk: Disk, directory: string, topicId: TopicId): Promise<void> {
  const file = await disk.open(`${directory}/${PARTITION_METADATA}`, 'create')
  try {
    await file.truncate(0)
    await file.write([contentFor(topicId)], 0)
  } finally {
    await file.close()
  }
}

/**
 * Written over itself first: the sync of a process before us may have failed, and the kernel takes the page for clean
 * since. Nothing to do where there is no file: Kafka of old wrote none.
 */
export async function syncPartitionMetadata(disk: Disk, directory: string, topicId: TopicId): Promise<void> {
  const path = `${directory}/${PARTITION_METADATA}`
  if ((await disk.stat(path)) === null) return
  const file = await disk.open(path, 'write')
  try {
    await file.write([contentFor(topicId)], 0)
    await file.sync()
  } finally {
    await file.close()
  }
}

function contentFor(topicId: TopicId): Buffer {
  return Buffer.from(`version: 0\ntopic_id: ${topicId}`)
}

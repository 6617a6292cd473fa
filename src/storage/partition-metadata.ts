import type { Disk } from '../env/disk.ts'
import type { TopicId } from '../model/ids.ts'
import { PARTITION_METADATA } from './file-names.ts'
import { readFileIfThere } from './files.ts'

/** Whose a partition's directory is. */
export interface PartitionIdentity {
  readonly topicId: TopicId
  /** Null: Kafka wrote the file, or it is torn. */
  readonly partition: number | null
}

/**
 * The file `partition.metadata`. Kafka's has the topic's id only; our third line says which of the topic's partitions it is,
 * so that two directories that were swapped are found out. Kafka's reader stops before it.
 */
export async function readPartitionMetadata(disk: Disk, directory: string): Promise<PartitionIdentity | null> {
  const content = await readFileIfThere(disk, `${directory}/${PARTITION_METADATA}`)
  if (content === null) return null
  const text = content.toString('latin1')
  const topicId = /^version:\s*0\r?\ntopic_id:\s*([A-Za-z0-9_-]{22})(?:\s*$|\r?\n)/.exec(text)?.[1]
  if (topicId === undefined) return null
  const partition = /\npartition: ([0-9]{1,10})\n/.exec(text)?.[1]
  return { topicId: topicId as TopicId, partition: partition === undefined ? null : Number(partition) }
}

/** Not synced: `syncPartitionMetadata` does that before the log acknowledges anything. */
export async function writePartitionMetadata(disk: Disk, directory: string, identity: OwnIdentity): Promise<void> {
  const file = await disk.open(`${directory}/${PARTITION_METADATA}`, 'create')
  try {
    await file.truncate(0)
    await file.write([contentFor(identity)], 0)
  } finally {
    await file.close()
  }
}

/**
 * Written over itself first: the sync of a process before us may have failed, and the kernel takes the page for clean
 * since. Nothing to do where there is no file: Kafka of old wrote none.
 */
export async function syncPartitionMetadata(disk: Disk, directory: string, identity: OwnIdentity): Promise<void> {
  const path = `${directory}/${PARTITION_METADATA}`
  if ((await disk.stat(path)) === null) return
  const file = await disk.open(path, 'write')
  try {
    await file.write([contentFor(identity)], 0)
    await file.sync()
  } finally {
    await file.close()
  }
}

interface OwnIdentity {
  readonly topicId: TopicId
  readonly partition: number
}

/** The line of the partition counts when it is whole: with its end. */
function contentFor({ topicId, partition }: OwnIdentity): Buffer {
  return Buffer.from(`version: 0\ntopic_id: ${topicId}\npartition: ${partition}\n`)
}

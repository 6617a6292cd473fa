import type { Disk } from '../env/disk.ts'
import type { TopicId } from '../model/ids.ts'
import { PARTITION_METADATA } from './file-names.ts'
import { readFileIfThere, replaceFile } from './files.ts'

/** The file `partition.metadata`: to which topic a partition's directory belongs. */
export async function readPartitionMetadata(disk: Disk, directory: string): Promise<TopicId | null> {
  const content = await readFileIfThere(disk, `${directory}/${PARTITION_METADATA}`)
  if (content === null) return null
  const match = /^version:\s*0\r?\ntopic_id:\s*([A-Za-z0-9_-]{22})\s*$/.exec(content.toString('utf8'))
  return match === null ? null : (match[1] as TopicId)
}

export async function writePartitionMetadata(disk: Disk, directory: string, topicId: TopicId): Promise<void> {
  const content = Buffer.from(`version: 0\ntopic_id: ${topicId}`)
  await replaceFile(disk, `${directory}/${PARTITION_METADATA}`, [content])
}

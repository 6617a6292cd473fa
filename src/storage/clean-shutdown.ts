import type { Disk } from '../env/disk.ts'
import { CLEAN_SHUTDOWN } from './file-names.ts'
import { readFileIfThere, removeIfThere, replaceFile } from './files.ts'

/** The last stop of a node was clean: all logs were closed before it. */
export interface CleanShutdown {
  /** Of the incarnation that stopped; -1 when the file does not say. */
  readonly brokerEpoch: number
}

/** Null: the last stop was not clean, or there was none. */
export async function readCleanShutdown(disk: Disk, folder: string): Promise<CleanShutdown | null> {
  const content = await readFileIfThere(disk, `${folder}/${CLEAN_SHUTDOWN}`)
  if (content === null) return null
  try {
    const { version, brokerEpoch } = JSON.parse(content.toString('utf8'))
    return { brokerEpoch: version === 0 && Number.isSafeInteger(brokerEpoch) ? brokerEpoch : -1 }
  } catch {
    // Old versions of Kafka leave an empty file.
    return { brokerEpoch: -1 }
  }
}

export async function writeCleanShutdown(disk: Disk, folder: string, brokerEpoch: number): Promise<void> {
  const content = Buffer.from(JSON.stringify({ version: 0, brokerEpoch }))
  await replaceFile(disk, `${folder}/${CLEAN_SHUTDOWN}`, [content])
}

/** From now on a crash is a crash. Durable when it resolves. */
export async function removeCleanShutdown(disk: Disk, folder: string): Promise<void> {
  await removeIfThere(disk, `${folder}/${CLEAN_SHUTDOWN}`)
  await disk.syncDirectory(folder)
}

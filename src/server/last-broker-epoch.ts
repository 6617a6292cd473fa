import type { Disk } from '../env/disk.ts'
import { readFileIfThere, replaceFile } from '../storage/files.ts'

/** In the data folder: the epoch of the broker that ran on it last. */
const FILE = 'last-broker-epoch'

/**
 * The registration of the life before this one, however that ended; null where the folder does not say, as when it was
 * restored from somewhere. By it the controller recognises a broker that comes back with all it ever had on disk.
 */
export async function readLastBrokerEpoch(disk: Disk, folder: string): Promise<number | null> {
  const content = await readFileIfThere(disk, `${folder}/${FILE}`)
  const match = /^(\d{1,15})\n$/.exec(content?.toString('latin1') ?? '')
  return match === null ? null : Number(match[1])
}

/** Durable when it resolves. */
export async function writeLastBrokerEpoch(disk: Disk, folder: string, brokerEpoch: number): Promise<void> {
  await replaceFile(disk, `${folder}/${FILE}`, [Buffer.from(`${brokerEpoch}\n`)])
}

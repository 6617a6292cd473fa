import type { Disk } from '../env/disk.ts'
import { readFileIfThere, replaceFile } from '../storage/files.ts'

/** In the data folder: the incarnations of the broker that may have been the last on it, oldest first, one a line. */
const FILE = 'broker-incarnations'
/** Lives that ended before they knew whether they were registered. The first is kept for ever, for it was. */
const KEPT_MAX = 32

/**
 * By these the controller recognises a broker that comes back with all it ever had on disk, and tells it from one whose
 * folder was restored from an older copy: the incarnation it knows must be among them. Empty where the folder does not say.
 */
export async function readOwnIncarnations(disk: Disk, folder: string): Promise<readonly string[]> {
  const content = await readFileIfThere(disk, `${folder}/${FILE}`)
  const lines = content?.toString('latin1').split('\n').slice(0, -1) ?? []
  return lines.every((line) => /^[\w-]{22}$/.test(line)) ? lines : []
}

/**
 * Before `incarnationId` is told to the controller, for its answer may get lost: then only the folder knows of the
 * registration. Durable when it resolves.
 */
export async function noteIncarnation(
  disk: Disk,
  folder: string,
  known: readonly string[],
  incarnationId: string,
): Promise<void> {
  const since = known.slice(1).slice(-(KEPT_MAX - 2))
  await write(disk, folder, [...known.slice(0, 1), ...since, incarnationId])
}

/** Those before it were not the last. Durable when it resolves. */
export function noteRegistered(disk: Disk, folder: string, incarnationId: string): Promise<void> {
  return write(disk, folder, [incarnationId])
}

async function write(disk: Disk, folder: string, incarnations: readonly string[]): Promise<void> {
  await replaceFile(disk, `${folder}/${FILE}`, [Buffer.from(`${incarnations.join('\n')}\n`)])
}

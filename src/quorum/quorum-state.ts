import { MalformedError } from '../base/bytes.ts'
import { crc32c } from '../base/crc32c.ts'
import { type Disk, DiskError } from '../env/disk.ts'
import { replaceFile } from '../storage/files.ts'

/** What a voter must not forget: the epoch it is in, whom it voted for, who leads. Kafka's file of that name (KIP-595). */
export interface QuorumState {
  /** -1: unknown. */
  readonly leaderId: number
  readonly leaderEpoch: number
  /** -1: nobody. */
  readonly votedId: number
  readonly votedDirectoryId: string
}

export const QUORUM_STATE_FILE = 'quorum-state'
export const NOBODY = -1
export const NO_DIRECTORY = 'AAAAAAAAAAAAAAAAAAAAAA'
const DATA_VERSION = 1
const STATE_BYTES_MAX = 64 * 1024
/** Ours to add, over all that stands before it: Kafka reads the fields it knows and passes over any other. */
const CHECKSUM = 'checksum'
const FIELDS: readonly string[] = ['leaderId', 'leaderEpoch', 'votedId', 'votedDirectoryId', 'data_version', CHECKSUM]

/** Durable when it resolves; after a crash the file holds either the old state or this one. */
export async function writeQuorumState(disk: Disk, folder: string, state: QuorumState): Promise<void> {
  await replaceFile(disk, `${folder}/${QUORUM_STATE_FILE}`, [Buffer.from(printQuorumState(state))])
}

export function printQuorumState({ leaderId, leaderEpoch, votedId, votedDirectoryId }: QuorumState): string {
  const fields = { leaderId, leaderEpoch, votedId, votedDirectoryId, data_version: DATA_VERSION }
  return JSON.stringify({ ...fields, [CHECKSUM]: checksumOf(fields) })
}

function checksumOf(fields: Record<string, unknown>): number {
  return crc32c(Buffer.from(JSON.stringify(fields))) >>> 0
}

/** Null when there is none. Throws `MalformedError` for one that cannot be read: a vote may be in it, so it is not made up. */
export async function readQuorumState(disk: Disk, folder: string): Promise<QuorumState | null> {
  let content: Buffer
  try {
    content = await disk.readFile(`${folder}/${QUORUM_STATE_FILE}`, STATE_BYTES_MAX)
  } catch (error) {
    if (error instanceof DiskError && error.code === 'ENOENT') return null
    throw error
  }
  return parseQuorumState(content.toString('utf8'))
}

export function parseQuorumState(text: string): QuorumState {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new MalformedError('quorum-state is not JSON', { cause: error })
  }
  if (typeof json !== 'object' || json === null) throw new MalformedError('quorum-state is not an object')
  const fields = json as Record<string, unknown>
  const version = fields['data_version']
  if (version !== 0 && version !== DATA_VERSION) {
    throw new MalformedError(`quorum-state of version ${JSON.stringify(version)}, 0 and ${DATA_VERSION} are known`)
  }
  checkWhole(fields)
  // Version 0 has no directory ids, and more fields that nobody needs any more.
  const votedDirectoryId = version === 0 ? NO_DIRECTORY : fields['votedDirectoryId']
  if (typeof votedDirectoryId !== 'string') throw new MalformedError('quorum-state without votedDirectoryId')
  return {
    leaderId: whole(fields, 'leaderId'),
    leaderEpoch: whole(fields, 'leaderEpoch'),
    votedId: whole(fields, 'votedId'),
    votedDirectoryId,
  }
}

/** A bit that flips in a digit is another epoch, or another vote. What Kafka has written has no checksum. */
function checkWhole(fields: Record<string, unknown>): void {
  const strange = Object.keys(fields).find((name) => !FIELDS.includes(name))
  if (strange !== undefined && fields['data_version'] === DATA_VERSION) {
    throw new MalformedError(`quorum-state has a field ${JSON.stringify(strange)}`)
  }
  const { [CHECKSUM]: checksum, ...others } = fields
  if (checksum === undefined || checksum === checksumOf(others)) return
  throw new MalformedError(`quorum-state is damaged: its checksum is not ${JSON.stringify(checksum)}`)
}

function whole(fields: Record<string, unknown>, name: string): number {
  const value = fields[name]
  if (typeof value !== 'number' || !Number.isInteger(value) || value < -1 || value > 0x7fffffff) {
    throw new MalformedError(`quorum-state has ${name} ${JSON.stringify(value)}`)
  }
  return value
}

import { partitionName, type TopicPartition } from '../model/ids.ts'

/** The names Kafka gives to what lies in a data folder. */
export const EPOCH_CHECKPOINT = 'leader-epoch-checkpoint'
export const PARTITION_METADATA = 'partition.metadata'
export const META_PROPERTIES = 'meta.properties'
export const CLEAN_SHUTDOWN = '.kafka_cleanshutdown'
export const FOLDER_LOCK = '.lock'
export const RECOVERY_POINTS = 'recovery-point-offset-checkpoint'
export const START_OFFSETS = 'log-start-offset-checkpoint'
export const CLEANER_OFFSETS = 'cleaner-offset-checkpoint'
export const HIGH_WATERMARKS = 'replication-offset-checkpoint'

/** Files of one segment. `.snapshot` holds the producers as they were before the offset in its name. */
export type SegmentFileKind = 'log' | 'index' | 'timeindex' | 'txnindex' | 'snapshot'
export const SEGMENT_FILE_KINDS: readonly SegmentFileKind[] = ['log', 'index', 'timeindex', 'txnindex', 'snapshot']
/** Ends of names under which a file waits for something: for its unlink, for a cleaner's swap, for a rename. */
export const DELETED_SUFFIX = '.deleted'
export const CLEANED_SUFFIX = '.cleaned'
export const SWAP_SUFFIX = '.swap'
export const TEMPORARY_SUFFIX = '.tmp'

const TOPIC_NAME_BYTES_MAX = 249
const NODE_FOLDER = 'node'
const DELETED_DIRECTORY_SUFFIX = '-delete'
const STRAY_DIRECTORY_SUFFIX = '-stray'

/** `00000000000000000042.log` */
export function segmentFileName(offset: number, kind: SegmentFileKind): string {
  return `${String(offset).padStart(20, '0')}.${kind}`
}

export interface SegmentFileName {
  readonly offset: number
  readonly kind: SegmentFileKind
}

/** Null for a name that is not of a segment's file; names with a suffix such as `.deleted` are not either. */
export function parseSegmentFileName(name: string): SegmentFileName | null {
  const match = /^([0-9]{20})\.(log|index|timeindex|txnindex|snapshot)$/.exec(name)
  if (match === null) return null
  const offset = Number(match[1])
  return Number.isSafeInteger(offset) ? { offset, kind: match[2] as SegmentFileKind } : null
}

/** A segment's records, also where a cleaner has not given the file its name yet. */
export function isRecordFile(name: string): boolean {
  return /^[0-9]{20}\.log(\.swap)?$/.test(name)
}

/** Null for a name that is not a partition's directory. Topic names may hold dashes: the last one counts. */
export function parsePartitionDirectory(name: string): TopicPartition | null {
  const match = /^([a-zA-Z0-9._-]+)-(0|[1-9][0-9]{0,9})$/.exec(name)
  if (match === null) return null
  const [topic, partition] = [match[1] as string, Number(match[2])]
  if (partition > 0x7fffffff || topic.length > TOPIC_NAME_BYTES_MAX || topic === '.' || topic === '..') return null
  return { topic, partition }
}

/** The folder of one of several nodes that run on a host out of one data folder. It reads as a partition of a topic `node`. */
export function nodeFolderName(number: number): string {
  return `${NODE_FOLDER}-${number}`
}

export function mayBeNodeFolder(name: string): boolean {
  const partition = parsePartitionDirectory(name)
  return partition !== null && partition.topic === NODE_FOLDER && partition.partition > 0
}

/** Where a partition waits for its removal. Kafka's form; a name as long as allowed keeps its directory below 255 bytes. */
export function deletedDirectoryName(topicPartition: TopicPartition, unique: string): string {
  return suffixed(topicPartition, unique, DELETED_DIRECTORY_SUFFIX)
}

/** Where a partition is kept for a while that nobody knows, that is another topic's, or that is damaged. */
export function strayDirectoryName(topicPartition: TopicPartition, unique: string): string {
  return suffixed(topicPartition, unique, STRAY_DIRECTORY_SUFFIX)
}

/** The name under which what was set aside is removed. */
export function deletedForm(strayPath: string): string {
  return strayPath.slice(0, -STRAY_DIRECTORY_SUFFIX.length) + DELETED_DIRECTORY_SUFFIX
}

function suffixed(topicPartition: TopicPartition, unique: string, suffix: string): string {
  const end = `.${unique}${suffix}`
  return partitionName(topicPartition).slice(0, 255 - end.length) + end
}

export function isDeletedDirectory(name: string): boolean {
  return /^.+\.[0-9a-f]{32}-delete$/.test(name)
}

export function isStrayDirectory(name: string): boolean {
  return /^.+\.[0-9a-f]{32}-stray$/.test(name)
}

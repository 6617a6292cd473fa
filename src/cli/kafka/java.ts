import { type BrokerError, ClientError } from '../../rpc/errors.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { TopicPartition } from '../../model/ids.ts'

/** `String.hashCode`. */
export function hashOfText(text: string): number {
  let hash = 0
  for (let index = 0; index < text.length; index++) hash = (Math.imul(31, hash) + text.charCodeAt(index)) | 0
  return hash
}

/** `TopicPartition.hashCode`. */
export function hashOfPartition({ topic, partition }: TopicPartition): number {
  return (Math.imul(31, 31 + partition) + hashOfText(topic)) | 0
}

const BUCKETS_AT_FIRST = 16

/** Buckets of a `HashMap` that was made for so many keys. */
export function bucketsFor(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, count)))
}

/** Buckets of a `HashMap` that was copied from one of so many keys. */
export function bucketsOfCopy(count: number): number {
  return bucketsFor(Math.floor(count / 0.75 + 1))
}

/** The order in which a `HashMap` gives its keys: Kafka's tools print in it, and scripts compare what they print. */
export function inHashOrder<T>(items: readonly T[], hashOf: (item: T) => number, atFirst = BUCKETS_AT_FIRST): T[] {
  let buckets = atFirst
  while (items.length > buckets * 0.75) buckets *= 2
  const bucketOf = (item: T) => {
    const hash = hashOf(item)
    return (hash ^ (hash >>> 16)) & (buckets - 1)
  }
  return items.toSorted((left, right) => bucketOf(left) - bucketOf(right))
}

/** `%-15s %-10s …`: cells with a width are padded to it. */
export function padded(widths: readonly number[], cells: readonly (string | number)[]): string {
  return cells.map((cell, index) => String(cell).padEnd(widths[index] ?? 0)).join(' ')
}

/** What Kafka's client says where a server gives a code alone, for what our commands can be answered with. */
const TEXTS: Readonly<Record<number, string>> = {
  [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]: 'This server does not host this topic-partition.',
  [ErrorCode.GROUP_ID_NOT_FOUND]: 'The group id does not exist.',
  [ErrorCode.NON_EMPTY_GROUP]: 'The group is not empty.',
  [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]:
    'Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it.',
  [ErrorCode.INVALID_GROUP_ID]: 'The configured groupId is invalid.',
  [ErrorCode.TOPIC_ALREADY_EXISTS]: 'Topic with this name already exists.',
}

const EXCEPTIONS: Readonly<Record<number, string>> = {
  [ErrorCode.NON_EMPTY_GROUP]: 'GroupNotEmptyException',
  [ErrorCode.TOPIC_ALREADY_EXISTS]: 'TopicExistsException',
  [ErrorCode.INVALID_CONFIG]: 'InvalidConfigurationException',
  [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]: 'GroupSubscribedToTopicException',
}

export function messageOf(error: BrokerError): string {
  return error.serverMessage ?? TEXTS[error.errorCode] ?? error.message
}

/** `org.apache.kafka.common.errors.GroupNotEmptyException: The group is not empty.`; some of Kafka's calls look at the code alone. */
export function exceptionOf(error: BrokerError, { byCode = false } = {}): string {
  const camel = error.code.toLowerCase().replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase())
  const name = EXCEPTIONS[error.errorCode] ?? `${camel.replace(/Exception$/, '')}Exception`
  const text = (byCode ? TEXTS[error.errorCode] : undefined) ?? messageOf(error)
  return `org.apache.kafka.common.errors.${name}: ${text}`
}

/** `error` when it is one that a server or the network gave; throws everything else on. */
export function clientErrorOf(error: unknown): ClientError {
  if (error instanceof ClientError) return error
  throw error
}

import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { METADATA_TOPIC } from '../model/ids.ts'

export const OFFSETS_TOPIC = '__consumer_offsets'
export const TRANSACTION_TOPIC = '__transaction_state'
export const SHARE_STATE_TOPIC = '__share_group_state'
const NAME_LENGTH_MAX = 249

/** Topics that the brokers keep for themselves. */
export function isInternalTopic(name: string): boolean {
  return name === OFFSETS_TOPIC || name === TRANSACTION_TOPIC || name === SHARE_STATE_TOPIC
}

/** Why `name` cannot be a topic's, in Kafka's words, or null. */
export function topicNameProblem(name: string): string | null {
  if (name === '') return 'Topic name is invalid: the empty string is not allowed'
  if (name === '.' || name === '..') return `Topic name is invalid: '${name}' is not allowed`
  if (name.length > NAME_LENGTH_MAX) {
    return `Topic name is invalid: the length of '${name}' is longer than the max allowed length ${NAME_LENGTH_MAX}`
  }
  if (/[^a-zA-Z0-9._-]/.test(name)) {
    return (
      `Topic name is invalid: '${name}' contains one or more characters other than ` +
      "ASCII alphanumerics, '.', '_' and '-'"
    )
  }
  return null
}

export function isMetadataTopic(name: string): boolean {
  return name === METADATA_TOPIC
}

/**
 * Names that differ only in `.` and `_` would share one metric name, so the second is refused. Kept beside the image
 * because asking every topic at every creation would make the creation of many topics quadratic.
 */
export class CollidingNames {
  readonly #names = new Map<string, Set<string>>()

  constructor(image: MetadataImage) {
    for (const name of image.topicsByName.keys()) this.#add(name)
  }

  /** To be told of every change of the image. */
  update({ deletedTopics, createdTopics }: Pick<MetadataChanges, 'deletedTopics' | 'createdTopics'>): void {
    for (const { name } of deletedTopics) {
      const key = unified(name)
      const names = this.#names.get(key)
      names?.delete(name)
      if (names?.size === 0) this.#names.delete(key)
    }
    for (const { name } of createdTopics) this.#add(name)
  }

  /** An existing topic that `name` collides with; an equal name does not count. */
  collisionOf(name: string): string | null {
    for (const other of this.#names.get(unified(name)) ?? []) if (other !== name) return other
    return null
  }

  #add(name: string): void {
    const key = unified(name)
    if (!/[._]/.test(name)) return
    const names = this.#names.get(key) ?? new Set()
    this.#names.set(key, names.add(name))
  }
}

function unified(name: string): string {
  return name.replaceAll('.', '_')
}

import type { Admin } from '../../client/admin.ts'
import type { TopicPartition } from '../../model/ids.ts'
import { usage } from './tool.ts'

/** What `--topic orders --topic audit:0,2` names; `missing` are topics without partitions that do not exist. */
export async function partitionsOfTopics(
  admin: Admin,
  words: readonly string[],
): Promise<{ partitions: TopicPartition[]; missing: string[] }> {
  const named = words.filter((word) => word.includes(':')).flatMap(parsePartitions)
  const whole = words.filter((word) => !word.includes(':'))
  if (whole.length === 0) return { partitions: named, missing: [] }
  const topics = await admin.listTopics({ internal: true })
  const found = topics.filter(({ name }) => whole.includes(name))
  const all = found.flatMap(({ name, partitions }) => partitions.map(({ partition }) => ({ topic: name, partition })))
  return {
    partitions: [...named, ...all],
    missing: whole.filter((name) => found.every((topic) => topic.name !== name)),
  }
}

function parsePartitions(word: string): TopicPartition[] {
  const [topic = '', numbers = '', ...more] = word.split(':')
  if (more.length > 0 || numbers === '') throw usage(`Invalid topic arg '${word}', expected topic name and partitions`)
  return numbers.split(',').map((number) => {
    if (!/^[+-]?\d{1,9}$/.test(number)) throw usage(`Invalid partition '${number}' specified in topic arg '${word}''`)
    return { topic, partition: Number(number) }
  })
}

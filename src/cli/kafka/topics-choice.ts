import type { Admin } from '../../client/admin.ts'
import type { Flags } from './flags.ts'
import { bucketsFor, bucketsOfCopy, hashOfText, inHashOrder } from './java.ts'
import { ToolExit } from './tool.ts'

/** Flags of --describe that show partitions of one kind only. */
export const REPORTS = [
  'under-replicated-partitions',
  'under-min-isr-partitions',
  'at-min-isr-partitions',
  'unavailable-partitions',
] as const

export function topicFailure(message: string): ToolExit {
  return new ToolExit(1, 'stdout', `Error while executing topic command : ${message}`)
}

export function refuseMissing(flags: Flags, kind: string, wanted: string | undefined, found: number): void {
  if (wanted === undefined || wanted === '' || found > 0 || flags.has('if-exists')) return
  throw topicFailure(`${kind} '${wanted}' does not exist as expected`)
}

/** Sorted; those that `--topic` matches as a whole, where it was given. */
export async function topicNames(admin: Admin, flags: Flags): Promise<string[]> {
  const pattern = flags.value('topic')
  const topics = await admin.listTopics({ internal: !flags.has('exclude-internal') })
  const names = topics.map(({ name }) => name).toSorted()
  if (pattern === undefined) return names
  const whole = wholeMatch(pattern)
  return names.filter((name) => whole.test(name))
}

/** Kafka's list of patterns, with commas between. */
export function wholeMatch(text: string): RegExp {
  const joined = text
    .trim()
    .replaceAll(',', '|')
    .replaceAll(' ', '')
    .replace(/^["']+|["']+$/g, '')
  try {
    return new RegExp(`^(?:${joined})$`)
  } catch {
    throw topicFailure(`${joined} is an invalid regex.`)
  }
}

export function inTopicOrder<T extends { readonly name: string }>(topics: readonly T[]): T[] {
  // Kafka's client puts its answers into one map, copies it, and puts that into a third.
  const through = (given: readonly T[], buckets: number) => inHashOrder(given, ({ name }) => hashOfText(name), buckets)
  const sorted = topics.toSorted((left, right) => (left.name < right.name ? -1 : 1))
  const { length } = topics
  return through(through(through(sorted, bucketsFor(length)), bucketsOfCopy(length)), bucketsFor(length))
}

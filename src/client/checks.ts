import { UsageError } from './errors.ts'

// Callers need not be written in TypeScript. What is wrong is told at the call that brought it: found out only when a
// request is written, it would end the process of the caller, or fail requests that are about something else.

const INT32_MAX = 2 ** 31 - 1
const TOPIC_NAME_BYTES_MAX = 249

/** Throws `UsageError`. */
export function checkNumber(name: string, value: number, least: number): void {
  if (typeof value === 'number' && value >= least) return
  throw new UsageError(`${name} ${String(value)}: a number from ${least} on is wanted`)
}

/** For what a request carries in 32 bits. Throws `UsageError`. */
export function checkInt32(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least && value <= INT32_MAX) return
  throw new UsageError(`${name} ${String(value)}: a whole number from ${least} to ${INT32_MAX} is wanted`)
}

/** Throws `UsageError`. */
export function checkChoice(name: string, value: unknown, choices: readonly unknown[]): void {
  if (!choices.includes(value)) throw new UsageError(`${name} ${String(value)}: one of ${choices.join(', ')} is wanted`)
}

/** Throws `UsageError`. */
export function mustBeTopicName(name: string): string {
  if (typeof name !== 'string') throw new UsageError(`topic ${String(name)}: a text is wanted`)
  const bytes = Buffer.byteLength(name)
  if (bytes <= TOPIC_NAME_BYTES_MAX) return name
  throw new UsageError(`topic ${name.slice(0, 40)}…: its name has ${bytes} bytes, at most ${TOPIC_NAME_BYTES_MAX}`)
}

/** Throws `UsageError`. */
export function checkPartition({ topic, partition }: { readonly topic: string; readonly partition: number }): void {
  mustBeTopicName(topic)
  checkInt32(`partition of ${topic}`, partition, 0)
}

/** A bug in our own code. It is never caught to go on: the node stops and another replica takes over. */
export class AssertionError extends Error {
  override name = 'AssertionError'
}

/** Always on, also in production. `message` says which promise is broken, with the values. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/**
 * What `assert` throws, for a check that is made so often that building its message each time would cost more than the
 * check: `if (!(delayMs >= 0)) bug(...)`. The condition is negated as a whole, so that NaN does not pass.
 */
export function bug(message: string): never {
  throw new AssertionError(message)
}

/** For the `default` of a switch that the type system knows to be complete. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`)
}

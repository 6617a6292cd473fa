/** A bug in our own code. It is never caught to go on: the node stops and another replica takes over. */
export class AssertionError extends Error {
  override name = 'AssertionError'
}

/** Always on, also in production. `message` says which promise is broken, with the values. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** For the `default` of a switch that the type system knows to be complete. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`)
}

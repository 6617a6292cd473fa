/**
 * What the scheduler needs of the real event loop, taken before a run replaces the globals.
 */
const nextTick = process.nextTick
const immediate = setImmediate

/**
 * Resolves when no microtask is left. Node runs what `nextTick` was given only once the microtask queue is empty, the
 * promises resolved meanwhile included; so a tick asked for from within a microtask is exactly "everything this event set
 * off has run". It costs no turn of the real event loop: 1.6 million a second, against 0.6 million with `setImmediate`.
 */
export function microtasksDone(): Promise<void> {
  return new Promise((resolve) => nextTick(resolve))
}

/** A turn of the real event loop: unhandled rejections and signals are noticed only there. */
export function realTurn(): Promise<void> {
  return new Promise((resolve) => immediate(resolve))
}

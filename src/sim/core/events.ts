import type { Actor } from './actor.ts'

/** Something that will happen, unless it is cancelled or its actor dies first. */
export interface Scheduled {
  cancel(): void
}

/**
 * Where the simulated disk and network put what happens later. The simulator runs it in virtual time; the embedded broker
 * in real time.
 */
export interface Events {
  /** Milliseconds since the start, fractional; never goes back. */
  readonly nowMs: number
  /** `kind` is a constant name; `digest` stands for the payload in the trace. */
  schedule(actor: Actor, delayMs: number, kind: string, digest: number, run: () => void): Scheduled
  /** Adds to the trace what became known only while an event ran. */
  note(digest: number): void
}

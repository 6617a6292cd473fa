import type { Events } from '../core/events.ts'
import type { Host } from './host.ts'

/** What the connections need to know of the network they run over. */
export interface Wire {
  readonly events: Events
  /** Digests are wanted, and buffers are poisoned after use. */
  readonly traced: boolean
  /** Can anything get from one host to the other now? */
  isOpen(from: Host, to: Host): boolean
  /** How long a segment takes. */
  delayMs(from: Host, to: Host): number
  /** May change bytes on their way. */
  tampered(from: Host, to: Host, chunk: Buffer): void
  /** How many of `available` bytes a read gets, at least 1. */
  cut(available: number): number
  /** Does a connection that is dropped end with a reset, which overtakes and destroys what is under way? */
  resets(): boolean
}

import type { Case } from './case.ts'

/** A client of the suite. */
export interface ClientDefinition {
  readonly name: string
  /** What it needs is put there, once; does nothing when it is there. Rejects with what is missing and how to get it. */
  install(): Promise<void>
  /** The adapter, without the bootstrap address, which is put after it. Null: no adapter, and `cases` are its own. */
  readonly command: (() => readonly [string, ...string[]]) | null
  readonly env?: Readonly<Record<string, string>>
  /** Instead of the common cases. */
  readonly cases?: readonly Case[]
  /** Its cases look at all that a server has: nobody else may use it. */
  readonly needsOwnServers?: boolean
  /** Instead of what an adapter declares. */
  version?(): Promise<string>
  /** Time from start to declaration, where that takes long (a compiler comes first). */
  readonly startMs?: number
}

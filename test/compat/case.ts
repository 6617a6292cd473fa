import type { Context } from './context.ts'
import type { Feature } from './protocol.ts'

/** A plain value that two servers must agree on. Nothing in it changes from run to run. */
export type Observation = unknown

export interface Case {
  /** Short, with dashes; a row of the table. */
  readonly name: string
  readonly title: string
  readonly needs: readonly Feature[]
  /** Rejects when what every server must do was not seen. */
  run(context: Context): Promise<Observation>
}

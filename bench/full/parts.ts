import type { ServerKind } from '../../test/support/server.ts'
import type { OneNode } from '../one-node.ts'
import type { Figures } from '../report.ts'

/** What the parts of the benchmark have in common. */
export interface Bench {
  readonly kinds: readonly ServerKind[]
  readonly nodes: OneNode
  readonly figures: Figures
  /** Of values, for each case of a round. */
  readonly gb: number
  readonly warmGb: number
  readonly rounds: number
  /** Of the log that a node is restarted with. */
  readonly logGb: number
  readonly latencySeconds: number
  /** How many partitions each round of `partitions` has. */
  readonly partitionCounts: readonly number[]
}

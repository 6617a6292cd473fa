import type { Env } from '../env/env.ts'
import type { MetadataImage } from '../metadata/image.ts'

/** What handlers that answer from the cluster's metadata need. */
export interface MetadataSource {
  readonly env: Env
  readonly clusterId: string
  readonly nodeId: number
  /** The newest image this node has applied. */
  image(): MetadataImage
  /** Resolves when no broker that `named` gives seems to have died a moment ago; null when none does now. */
  settled(named: () => Iterable<number>): Promise<void> | null
  /** The node that decides on metadata now, or null while none is known. */
  activeController(): number | null
}

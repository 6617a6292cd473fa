/** `millrace/testing`: a real cluster in the process of a test. */
export { MemoryCluster, type MemoryClusterOptions } from './memory-cluster.ts'
export type { MemoryNode } from './memory-node.ts'
export type { Duration } from './steered-clock.ts'

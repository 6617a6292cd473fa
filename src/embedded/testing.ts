/** `millrace/testing`: a real broker, or a cluster of them, in the process of a test. */
export type { ConsumerRecord } from '../client/fetched-records.ts'
export { FAILING_APIS, type Fault, type Faults } from './faults.ts'
export { MemoryBroker, type MemoryBrokerOptions, type ToProduce } from './memory-broker.ts'
export { MemoryCluster, type MemoryClusterOptions } from './memory-cluster.ts'
export type { MemoryNode } from './memory-node.ts'
export type { Duration } from './steered-clock.ts'

/** What a handler says about the request it carries. One object per request. */
export interface RequestContext {
  /** The version the request came in; some answers depend on it (topic ids, zstd, leader hints). */
  readonly version: number
  readonly clientId: string | null
  /** May the principal do to this topic what the request does? Asked again for each partition and attempt, so it is cheap. */
  mayAccess(topic: string): boolean
  /** False: the sender must not act as a replica (reliability X5). */
  readonly mayReplicate?: boolean
  /** Where a node can be reached on the listener the request came in by; null when unknown. For leader hints. */
  endpointOf(nodeId: number): NodeEndpoint | null
  /** Set while a long poll is parked for the request: the server calls it when the connection closes. */
  abandoned: (() => void) | null
  /** Set with the answer: the buffers of blocks in it. The server lets go of them once the answer has been sent. */
  lent: readonly Buffer[]
  /** Set with the answer: what it holds of the node's `AnswerBudget`. The server gives it back once the answer has left, or nobody wants it. */
  heldBytes: number
}

export interface NodeEndpoint {
  readonly host: string
  readonly port: number
  readonly rack: string | null
}

/** Plain numbers, read by the metrics registry when it is scraped. All only grow unless said otherwise. */
export interface ReplicaMetrics {
  produceRequests: number
  produceBatches: number
  produceRecords: number
  produceBytes: number
  produceRefusals: number
  produceDuplicates: number
  produceTimeouts: number
  /** Gauge: requests that wait for the high watermark or the file. */
  producesWaiting: number
  fetchRequests: number
  fetchBytes: number
  /** Gauge: long polls that wait for data. */
  fetchesParked: number
  fetchTimeouts: number
  /** Records given to followers. */
  replicaFetchBytes: number
  /** Gauge. */
  fetchSessions: number
  fetchSessionsEvicted: number
  /** Of this node as a follower: requests, those called back early, bytes of records, requests that failed as a whole. */
  followerFetches: number
  followerWakes: number
  followerBytes: number
  followerFailures: number
  /** Damaged logs that were set aside and fetched anew. */
  replicasRepaired: number
  /** Of led partitions: changes of the set of replicas in sync. */
  isrShrinks: number
  isrExpands: number
  /** Gauges over the partitions of this node. */
  partitions: number
  leaders: number
  partitionsUnderReplicated: number
  partitionsUnderMinIsr: number
  /** Led ones whose acknowledgements do not wait for the disk. */
  partitionsRelaxed: number
  partitionsOffline: number
}

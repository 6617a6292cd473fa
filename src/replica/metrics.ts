import type { FetchSessions } from './fetch-sessions.ts'
import type { HostedPartitions } from './hosted.ts'
import type { ReplicaMetrics } from './types.ts'

export function newMetrics(): ReplicaMetrics {
  return {
    produceRequests: 0,
    produceBatches: 0,
    produceRecords: 0,
    produceBytes: 0,
    produceRefusals: 0,
    produceDuplicates: 0,
    produceTimeouts: 0,
    producesWaiting: 0,
    fetchRequests: 0,
    fetchBytes: 0,
    fetchesParked: 0,
    fetchTimeouts: 0,
    replicaFetchBytes: 0,
    fetchSessions: 0,
    fetchSessionsEvicted: 0,
    followerFetches: 0,
    followerWakes: 0,
    followerBytes: 0,
    followerFailures: 0,
    replicasRepaired: 0,
    isrShrinks: 0,
    isrExpands: 0,
    partitions: 0,
    leaders: 0,
    partitionsUnderReplicated: 0,
    partitionsUnderMinIsr: 0,
    partitionsRelaxed: 0,
    partitionsOffline: 0,
  }
}

export function refreshGauges(metrics: ReplicaMetrics, hosted: HostedPartitions, sessions: FetchSessions): void {
  metrics.fetchSessions = sessions.size
  metrics.fetchSessionsEvicted = sessions.evicted
  metrics.partitions = 0
  metrics.leaders = 0
  metrics.partitionsUnderReplicated = 0
  metrics.partitionsUnderMinIsr = 0
  metrics.partitionsRelaxed = 0
  metrics.partitionsOffline = 0
  for (const { leader, isOffline, settings } of hosted) {
    metrics.partitions += 1
    if (isOffline) metrics.partitionsOffline += 1
    if (leader === null) continue
    metrics.leaders += 1
    if (leader.isUnderReplicated) metrics.partitionsUnderReplicated += 1
    if (leader.isUnderMinInsync) metrics.partitionsUnderMinIsr += 1
    if (settings.log.durabilityMode === 'relaxed') metrics.partitionsRelaxed += 1
  }
}

import type { Quorum } from '../quorum/quorum.ts'
import type { LogManager } from '../storage/log-manager.ts'
import type { BrokerHalf } from './broker-half.ts'
import type { NodeConfig } from './config/node-config.ts'
import type { Doors } from './doors.ts'
import type { HealthCheck, HealthReport } from './http/health.ts'
import type { Family } from './metrics/family.ts'
import { brokerMetrics, connectionMetrics } from './metrics/node-metrics.ts'
import { quorumMetrics } from './metrics/quorum-metrics.ts'

/** What of a node its operator is told. */
export interface ReportedParts {
  readonly config: NodeConfig
  readonly version: string
  readonly doors: Doors
  readonly logs: LogManager | undefined
  readonly quorum: Quorum | undefined
  readonly broker: BrokerHalf | undefined
  /** What the node is doing until it serves. */
  readonly unready: string | null
  /** Of the metadata that is shown to clients. */
  readonly shownOffset: number
  readonly isFenced: boolean
}

/** Some elections may fail. */
const QUORUM_LOST_MS = 5000

export function healthOf({ config, logs, quorum, broker, unready, isFenced }: ReportedParts): HealthReport {
  const replicas = broker?.replicas
  replicas?.refreshGauges()
  const offline = replicas?.metrics.partitionsOffline ?? 0
  const ready: HealthCheck[] = [
    { name: 'start', problem: unready },
    { name: 'controller', problem: isFenced ? 'this node is fenced: no client is sent here' : null },
    { name: 'quorum', problem: config.membership.roles.includes('controller') ? quorumProblem(quorum) : null },
    { name: 'disk', problem: logs?.readOnlyReason ?? null },
    { name: 'logs', problem: offline === 0 ? null : `${offline} partitions are offline: their logs failed` },
  ]
  return { live: [{ name: 'event loop', problem: null }], ready }
}

/** A controller without its quorum decides nothing, and cannot tell what the others have decided. */
function quorumProblem(quorum: Quorum | undefined): string | null {
  const silentMs = quorum?.leaderSilentMs ?? 0
  if (silentMs < QUORUM_LOST_MS) return null
  return `no leader of the controllers has been heard for ${Math.round(silentMs / 1000)} s: a majority of them is gone, or cut off from here`
}

export function* metricsOf(parts: ReportedParts): Generator<Family> {
  const { config, version, doors, logs, quorum, broker, shownOffset } = parts
  if (logs === undefined || quorum === undefined) return
  const { clusterId } = logs.metaProperties
  yield* connectionMetrics({
    version,
    nodeId: config.nodeId,
    clusterId,
    acceptor: doors.clients,
    dispatchers: doors.dispatchers,
  })
  yield* quorumMetrics(quorum)
  if (broker === undefined) return
  broker.replicas.refreshGauges()
  yield* brokerMetrics({
    replicas: broker.replicas.metrics,
    storage: logs.usage,
    cleaner: logs.cleanerStats,
    scrub: logs.scrubStats,
    isReadOnly: !logs.isWritable,
    groups: broker.groups.groupCount,
    metadataOffset: shownOffset,
  })
}

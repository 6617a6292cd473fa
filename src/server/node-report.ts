import type { Quorum } from '../quorum/quorum.ts'
import type { LogManager } from '../storage/log-manager.ts'
import type { BrokerHalf } from './broker-half.ts'
import { formatAddress } from './config/listeners.ts'
import type { NodeConfig } from './config/node-config.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { Doors } from './doors.ts'
import type { HealthCheck, HealthReport } from './http/health.ts'
import type { Family } from './metrics/family.ts'
import { controllerMetrics } from './metrics/controller-metrics.ts'
import { groupMetrics } from './metrics/group-metrics.ts'
import { brokerMetrics, connectionMetrics } from './metrics/node-metrics.ts'
import { listenerMetrics, requestMetrics } from './metrics/request-metrics.ts'
import { topicMetrics } from './metrics/topic-metrics.ts'
import { addressOfBroker } from './registered-listeners.ts'
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
  /** The metadata that is shown to clients. */
  readonly image: MetadataImage
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

/** What leaders on other nodes know of groups is asked for first, at most two seconds. */
export async function metricsOf(parts: ReportedParts): Promise<Family[]> {
  const { broker } = parts
  const groups = broker === undefined ? [] : await groupMetrics(broker.groups, broker.lags)
  return [...metricsNow(parts), ...groups]
}

function* metricsNow(parts: ReportedParts): Generator<Family> {
  const { config, version, doors, logs, quorum, broker, shownOffset, image } = parts
  if (logs === undefined || quorum === undefined) return
  const { clusterId } = logs.metaProperties
  yield* connectionMetrics({
    version,
    nodeId: config.nodeId,
    clusterId,
    acceptor: doors.clients,
    dispatchers: doors.dispatchers,
  })
  yield* requestMetrics(Object.values(doors.dispatchers))
  yield* listenerMetrics([...doors.clients.connections, ...doors.controllers.connections])
  yield* quorumMetrics(quorum)
  yield* controllerMetrics(quorum)
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
  const { hosted, metrics: replicas } = broker.replicas
  const { nodeId } = config
  const { host = '', port = 0 } = addressOfBroker(image, nodeId, config.interBrokerListener) ?? {}
  yield* topicMetrics({ nodeId, address: formatAddress({ host, port }), image, hosted, replicas })
}

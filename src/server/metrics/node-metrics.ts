import type { ReplicaMetrics } from '../../replica/types.ts'
import type { CleanerStats } from '../../storage/cleaner/cleaner.ts'
import type { ScrubStats } from '../../storage/scrubber.ts'
import type { Acceptor } from '../connections/acceptor.ts'
import type { Dispatcher } from '../dispatch/dispatcher.ts'
import type { Family, Sample } from './family.ts'
import { family, METRICS, type MetricName, single } from './table.ts'

export interface ConnectionFigures {
  readonly version: string
  readonly nodeId: number
  readonly clusterId: string
  readonly acceptor: Acceptor
  /** By the kind of listener. */
  readonly dispatchers: Readonly<Partial<Record<'broker' | 'controller', Dispatcher>>>
}

export interface BrokerFigures {
  /** Gauges refreshed. */
  readonly replicas: ReplicaMetrics
  readonly cleaner: Readonly<CleanerStats>
  readonly scrub: Readonly<ScrubStats>
  readonly storage: { readonly openFiles: number; readonly tailBytes: number; readonly indexBytes: number }
  readonly isReadOnly: boolean
  readonly groups: number
  readonly metadataOffset: number
}

/** What `ReplicaMetrics` counts, and under which name. */
const REPLICA_FIGURES: readonly [keyof ReplicaMetrics, MetricName][] = [
  ['produceRequests', 'millrace_produce_requests_total'],
  ['produceBatches', 'millrace_produce_batches_total'],
  ['produceRecords', 'millrace_produce_records_total'],
  ['produceBytes', 'millrace_produce_bytes_total'],
  ['produceRefusals', 'millrace_produce_refusals_total'],
  ['produceDuplicates', 'millrace_produce_duplicates_total'],
  ['produceTimeouts', 'millrace_produce_timeouts_total'],
  ['fetchRequests', 'millrace_fetch_requests_total'],
  ['fetchBytes', 'millrace_fetch_bytes_total'],
  ['fetchTimeouts', 'millrace_fetch_timeouts_total'],
  ['replicaFetchBytes', 'millrace_replication_out_bytes_total'],
  ['followerFetches', 'millrace_follower_fetches_total'],
  ['followerWakes', 'millrace_follower_wakes_total'],
  ['followerBytes', 'millrace_replication_in_bytes_total'],
  ['followerFailures', 'millrace_follower_failures_total'],
  ['replicasRepaired', 'millrace_replicas_repaired_total'],
  ['isrShrinks', 'millrace_isr_shrinks_total'],
  ['isrExpands', 'millrace_isr_expands_total'],
  ['isrShrinks', 'kafka_server_replicamanager_isrshrinks_total'],
  ['isrExpands', 'kafka_server_replicamanager_isrexpands_total'],
  ['fetchSessionsEvicted', 'millrace_fetch_sessions_evicted_total'],
  ['producesWaiting', 'millrace_produces_waiting'],
  ['fetchesParked', 'millrace_fetches_parked'],
  ['fetchSessions', 'millrace_fetch_sessions'],
  ['partitions', 'millrace_partitions'],
  ['leaders', 'millrace_partition_leaders'],
  ['partitionsUnderReplicated', 'millrace_partitions_under_replicated'],
  ['partitionsUnderMinIsr', 'millrace_partitions_under_min_isr'],
  ['partitionsRelaxed', 'millrace_partitions_relaxed'],
  ['partitionsOffline', 'millrace_partitions_offline'],
]

/** What runs here, who is connected, and what they ask. */
export function* connectionMetrics(figures: ConnectionFigures): Generator<Family> {
  const { version, nodeId, clusterId, acceptor } = figures
  yield family('millrace_info', [{ labels: { version, node_id: nodeId, cluster_id: clusterId }, value: 1 }])
  yield single('millrace_connections', acceptor.connections.size)
  yield single('millrace_connections_accepted_total', acceptor.counts.accepted)
  yield single('millrace_connections_refused_total', acceptor.counts.refusedAtAccept)
  yield single('millrace_connections_closed_total', acceptor.counts.closedByUs)
  yield single('millrace_request_bytes_in_flight', acceptor.budget.usedBytes)
  yield single('millrace_response_bytes_held', acceptor.answers.heldBytes)
  yield single('millrace_fetches_waiting_for_room', acceptor.answers.waiting)
  yield single('millrace_request_bytes_in_flight_max', acceptor.budget.limitBytes)
  yield single('millrace_connections_waiting_for_bytes', acceptor.budget.waiting)
  yield* apiFamilies(figures.dispatchers)
}

/** Replicas, logs and groups. */
export function* brokerMetrics(figures: BrokerFigures): Generator<Family> {
  const { replicas, storage } = figures
  for (const [key, name] of REPLICA_FIGURES) yield single(name, replicas[key])
  yield single('millrace_open_files', storage.openFiles)
  yield single('millrace_tail_bytes', storage.tailBytes)
  yield single('millrace_index_bytes', storage.indexBytes)
  yield* scrubMetrics(figures.scrub)
  const { cleaner } = figures
  yield single('millrace_cleaner_rounds_total', cleaner.rounds)
  yield single('millrace_cleaner_read_bytes_total', cleaner.bytesRead)
  yield single('millrace_cleaner_written_bytes_total', cleaner.bytesWritten)
  yield single('millrace_cleaner_removed_bytes_total', cleaner.bytesRemoved)
  yield single('millrace_cleaner_interruptions_total', cleaner.interruptions)
  yield single('millrace_cleaner_failures_total', cleaner.failures)
  yield single('millrace_cleaner_uncleanable_partitions', cleaner.uncleanable)
  yield single('millrace_cleaner_last_run_seconds', cleaner.lastRunMs < 0 ? -1 : cleaner.lastRunMs / 1000)
  yield single('millrace_read_only', figures.isReadOnly ? 1 : 0)
  yield single('millrace_groups', figures.groups)
  yield single('millrace_metadata_offset', figures.metadataOffset)
}

function* apiFamilies(dispatchers: ConnectionFigures['dispatchers']): Generator<Family> {
  const used = Object.entries(dispatchers)
    .flatMap(([listener, dispatcher]) =>
      [...dispatcher.metrics()].map(({ name, metrics }) => ({ labels: { api: name, listener }, metrics })),
    )
    .filter(({ metrics }) => metrics.requests > 0)
  const samples = (pick: (entry: (typeof used)[number]['metrics']) => number): Sample[] =>
    used.map(({ labels, metrics }) => ({ labels, value: pick(metrics) }))
  yield family(
    'millrace_requests_total',
    samples(({ requests }) => requests),
  )
  yield family(
    'millrace_request_bytes_total',
    samples(({ requestBytes }) => requestBytes),
  )
  yield family(
    'millrace_response_bytes_total',
    samples(({ responseBytes }) => responseBytes),
  )
  yield {
    name: 'millrace_request_seconds',
    help: METRICS.millrace_request_seconds.help,
    type: 'histogram',
    histograms: used.map(({ labels, metrics }) => ({ labels, histogram: metrics.latency })),
  }
}

function* scrubMetrics({ bytes, rounds, damaged, lastRoundMs }: ScrubStats): Generator<Family> {
  yield single('millrace_scrub_read_bytes_total', bytes)
  yield single('millrace_scrub_rounds_total', rounds)
  yield single('millrace_scrub_damaged_logs_total', damaged)
  yield single('millrace_scrub_last_round_seconds', lastRoundMs < 0 ? -1 : lastRoundMs / 1000)
}

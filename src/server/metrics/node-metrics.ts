import type { ReplicaMetrics } from '../../replica/types.ts'
import type { CleanerStats } from '../../storage/cleaner/cleaner.ts'
import type { ScrubStats } from '../../storage/scrubber.ts'
import type { Acceptor } from '../connections/acceptor.ts'
import type { Dispatcher } from '../dispatch/dispatcher.ts'
import type { Family, Sample } from './family.ts'

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

/** Counters of `ReplicaMetrics`, with the name and the text of each. */
const REPLICA_COUNTERS: readonly [keyof ReplicaMetrics, string, string][] = [
  ['produceRequests', 'millrace_produce_requests_total', 'Produce requests.'],
  ['produceBatches', 'millrace_produce_batches_total', 'Record batches appended for producers.'],
  ['produceRecords', 'millrace_produce_records_total', 'Records appended for producers.'],
  ['produceBytes', 'millrace_produce_bytes_total', 'Bytes of batches appended for producers.'],
  ['produceRefusals', 'millrace_produce_refusals_total', 'Partitions of Produce requests that were refused.'],
  [
    'produceDuplicates',
    'millrace_produce_duplicates_total',
    'Batches recognised as sent before, and not appended again.',
  ],
  ['produceTimeouts', 'millrace_produce_timeouts_total', 'Produce requests answered because their time was over.'],
  ['fetchRequests', 'millrace_fetch_requests_total', 'Fetch requests.'],
  ['fetchBytes', 'millrace_fetch_bytes_total', 'Bytes of batches sent to consumers.'],
  ['fetchTimeouts', 'millrace_fetch_timeouts_total', 'Fetch requests answered because their time was over.'],
  ['replicaFetchBytes', 'millrace_replication_out_bytes_total', 'Bytes of batches sent to followers.'],
  ['followerFetches', 'millrace_follower_fetches_total', 'Fetches of this node as a follower of others.'],
  [
    'followerWakes',
    'millrace_follower_wakes_total',
    'Fetches called back from a leader because there was news for it.',
  ],
  ['followerBytes', 'millrace_replication_in_bytes_total', 'Bytes of batches taken from leaders.'],
  [
    'followerFailures',
    'millrace_follower_failures_total',
    'Fetches of this node as a follower that failed as a whole.',
  ],
  [
    'replicasRepaired',
    'millrace_replicas_repaired_total',
    'Damaged logs that were set aside and fetched anew from the leader.',
  ],
  ['fetchSessionsEvicted', 'millrace_fetch_sessions_evicted_total', 'Fetch sessions given up for newer ones.'],
]
const REPLICA_GAUGES: readonly [keyof ReplicaMetrics, string, string][] = [
  ['producesWaiting', 'millrace_produces_waiting', 'Produce requests that wait for disks or copies.'],
  ['fetchesParked', 'millrace_fetches_parked', 'Long polls that wait for data.'],
  ['fetchSessions', 'millrace_fetch_sessions', 'Open fetch sessions.'],
  ['partitions', 'millrace_partitions', 'Partitions on this node.'],
  ['leaders', 'millrace_partition_leaders', 'Partitions led by this node.'],
  ['partitionsUnderReplicated', 'millrace_partitions_under_replicated', 'Led partitions with a replica out of sync.'],
  [
    'partitionsUnderMinIsr',
    'millrace_partitions_under_min_isr',
    'Led partitions that refuse acks=all for want of copies.',
  ],
  [
    'partitionsRelaxed',
    'millrace_partitions_relaxed',
    'Led partitions with durability.mode=relaxed: acknowledged before the disk has it.',
  ],
  ['partitionsOffline', 'millrace_partitions_offline', 'Partitions whose log failed on this node.'],
]

/** What runs here, who is connected, and what they ask. */
export function* connectionMetrics(figures: ConnectionFigures): Generator<Family> {
  const { version, nodeId, clusterId, acceptor } = figures
  yield gauge('millrace_info', 'What runs here; always 1.', [
    { labels: { version, node_id: nodeId, cluster_id: clusterId }, value: 1 },
  ])
  yield gauge('millrace_connections', 'Open client connections.', [{ value: acceptor.connections.size }])
  yield counter('millrace_connections_accepted_total', 'Accepted connections.', acceptor.counts.accepted)
  yield counter(
    'millrace_connections_refused_total',
    'Connections refused at the door.',
    acceptor.counts.refusedAtAccept,
  )
  yield counter(
    'millrace_connections_closed_total',
    'Connections closed for what they sent.',
    acceptor.counts.closedByUs,
  )
  yield gauge('millrace_request_bytes_in_flight', 'Bytes of requests held now.', [{ value: acceptor.budget.usedBytes }])
  yield gauge('millrace_response_bytes_held', 'Bytes of answers that were read and have not left yet.', [
    { value: acceptor.answers.heldBytes },
  ])
  yield gauge('millrace_fetches_waiting_for_room', 'Fetches that wait until answers of others have left.', [
    { value: acceptor.answers.waiting },
  ])
  yield gauge('millrace_request_bytes_in_flight_max', 'queued.max.request.bytes.', [
    { value: acceptor.budget.limitBytes },
  ])
  yield gauge('millrace_connections_waiting_for_bytes', 'Connections not read for want of request bytes.', [
    { value: acceptor.budget.waiting },
  ])
  yield* apiFamilies(figures.dispatchers)
}

/** Replicas, logs and groups. */
export function* brokerMetrics(figures: BrokerFigures): Generator<Family> {
  const { replicas, storage } = figures
  for (const [key, name, help] of REPLICA_COUNTERS) yield counter(name, help, replicas[key])
  for (const [key, name, help] of REPLICA_GAUGES) yield gauge(name, help, [{ value: replicas[key] }])
  yield gauge('millrace_open_files', 'Log files held open.', [{ value: storage.openFiles }])
  yield gauge('millrace_tail_bytes', 'Bytes of recent batches in memory.', [{ value: storage.tailBytes }])
  yield gauge('millrace_index_bytes', 'Bytes of indexes in memory.', [{ value: storage.indexBytes }])
  yield* scrubMetrics(figures.scrub)
  const { cleaner } = figures
  yield counter('millrace_cleaner_rounds_total', 'Rounds of compaction.', cleaner.rounds)
  yield counter('millrace_cleaner_read_bytes_total', 'Bytes read by compaction.', cleaner.bytesRead)
  yield counter('millrace_cleaner_written_bytes_total', 'Bytes written by compaction.', cleaner.bytesWritten)
  yield counter('millrace_cleaner_removed_bytes_total', 'Bytes that compaction has saved.', cleaner.bytesRemoved)
  yield counter('millrace_cleaner_interruptions_total', 'Rounds given up to be tried again.', cleaner.interruptions)
  yield counter('millrace_cleaner_failures_total', 'Rounds that failed.', cleaner.failures)
  yield gauge('millrace_cleaner_uncleanable_partitions', 'Logs not compacted any more before the next start.', [
    { value: cleaner.uncleanable },
  ])
  yield gauge('millrace_cleaner_last_run_seconds', 'When the last round ended, in seconds since 1970; -1: never.', [
    { value: cleaner.lastRunMs < 0 ? -1 : cleaner.lastRunMs / 1000 },
  ])
  yield gauge('millrace_read_only', '1 while the data folder takes no records.', [
    { value: figures.isReadOnly ? 1 : 0 },
  ])
  yield gauge('millrace_groups', 'Consumer groups coordinated here.', [{ value: figures.groups }])
  yield gauge('millrace_metadata_offset', 'Newest metadata record applied.', [{ value: figures.metadataOffset }])
}

function* apiFamilies(dispatchers: ConnectionFigures['dispatchers']): Generator<Family> {
  const used = Object.entries(dispatchers)
    .flatMap(([listener, dispatcher]) =>
      [...dispatcher.metrics()].map(({ name, metrics }) => ({ labels: { api: name, listener }, metrics })),
    )
    .filter(({ metrics }) => metrics.requests > 0)
  const samples = (pick: (entry: (typeof used)[number]['metrics']) => number): Sample[] =>
    used.map(({ labels, metrics }) => ({ labels, value: pick(metrics) }))
  yield {
    name: 'millrace_requests_total',
    help: 'Requests.',
    type: 'counter',
    samples: samples(({ requests }) => requests),
  }
  yield {
    name: 'millrace_request_bytes_total',
    help: 'Bytes of requests.',
    type: 'counter',
    samples: samples(({ requestBytes }) => requestBytes),
  }
  yield {
    name: 'millrace_response_bytes_total',
    help: 'Bytes of responses.',
    type: 'counter',
    samples: samples(({ responseBytes }) => responseBytes),
  }
  yield {
    name: 'millrace_request_seconds',
    help: 'From the complete request to its answer, waits included.',
    type: 'histogram',
    histograms: used.map(({ labels, metrics }) => ({ labels, histogram: metrics.latency })),
  }
}

function counter(name: string, help: string, value: number): Family {
  return { name, help, type: 'counter', samples: [{ value }] }
}

function gauge(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: 'gauge', samples }
}

function* scrubMetrics({ bytes, rounds, damaged, lastRoundMs }: ScrubStats): Generator<Family> {
  yield counter('millrace_scrub_read_bytes_total', 'Bytes read to look for damage.', bytes)
  yield counter('millrace_scrub_rounds_total', 'Looks through all logs.', rounds)
  yield counter('millrace_scrub_damaged_logs_total', 'Logs in which that has found damage.', damaged)
  yield gauge('millrace_scrub_last_round_seconds', 'When the last one ended, in seconds since 1970; -1: never.', [
    { value: lastRoundMs < 0 ? -1 : lastRoundMs / 1000 },
  ])
}

import { isInternalTopic } from '../../controller/topic-names.ts'
import type { MetadataImage } from '../../metadata/image.ts'
import type { HostedPartitions } from '../../replica/hosted.ts'
import type { Partition } from '../../replica/partition.ts'
import type { ReplicaMetrics } from '../../replica/types.ts'
import { Collector } from './collector.ts'
import type { Family } from './family.ts'

export interface TopicFigures {
  readonly nodeId: number
  /** Where this broker is reached. */
  readonly address: string
  readonly image: MetadataImage
  readonly hosted: HostedPartitions
  readonly replicas: ReplicaMetrics
}

/** Topics and partitions beyond these have no series of their own; sums have all. */
export const TOPICS_SHOWN_MAX = 1000
export const PARTITIONS_SHOWN_MAX = 2000

/** What Strimzi's dashboards and kafka_exporter's ask about topics and partitions, of those that are here. */
export function* topicMetrics(figures: TopicFigures): Generator<Family> {
  const collector = new Collector()
  const { nodeId, address, hosted, image } = figures
  collector.add('kafka_broker_info', 1, { address, id: nodeId })
  addTraffic(collector, figures)
  addTotals(collector, figures)
  const shown = usersFirst([...hosted], ({ topicPartition }) => topicPartition.topic).slice(0, PARTITIONS_SHOWN_MAX)
  for (const partition of shown) addPartition(collector, partition, image, nodeId)
  collector.add('millrace_metrics_partitions_left_out', hosted.all.length - shown.length)
  yield* collector.families()
}

/** Where not all can be shown, those of the users are. */
function usersFirst<T>(all: readonly T[], topicOf: (one: T) => string): readonly T[] {
  const isInternal = (one: T) => isInternalTopic(topicOf(one))
  return [...all.filter((one) => !isInternal(one)), ...all.filter(isInternal)]
}

function addTraffic(collector: Collector, { hosted, replicas }: TopicFigures): void {
  const topics = usersFirst([...hosted.traffic], ([topic]) => topic)
  const shown = topics.slice(0, TOPICS_SHOWN_MAX)
  for (const [topic, traffic] of shown) {
    collector.addAll(
      { topic },
      {
        kafka_server_brokertopicmetrics_messagesin_total: traffic.recordsIn,
        kafka_server_brokertopicmetrics_bytesin_total: traffic.bytesIn,
        kafka_server_brokertopicmetrics_bytesout_total: traffic.bytesOut,
        kafka_server_brokertopicmetrics_totalproducerequests_total: traffic.produceRequests,
        kafka_server_brokertopicmetrics_totalfetchrequests_total: traffic.fetchRequests,
        kafka_server_brokertopicmetrics_failedproducerequests_total: traffic.failedProduces,
        kafka_server_brokertopicmetrics_failedfetchrequests_total: traffic.failedFetches,
      },
    )
  }
  collector.add('millrace_metrics_topics_left_out', topics.length - shown.length)
  collector.add('kafka_server_brokertopicmetrics_messagesin_total', replicas.produceRecords)
  collector.add('kafka_server_brokertopicmetrics_bytesin_total', replicas.produceBytes)
  collector.add('kafka_server_brokertopicmetrics_bytesout_total', replicas.fetchBytes)
  collector.add('kafka_server_brokertopicmetrics_totalproducerequests_total', replicas.produceRequests)
  collector.add('kafka_server_brokertopicmetrics_totalfetchrequests_total', replicas.fetchRequests)
  collector.add('kafka_server_brokertopicmetrics_failedproducerequests_total', replicas.produceRefusals)
  collector.add('kafka_server_brokertopicmetrics_replicationbytesin_total', replicas.followerBytes)
  collector.add('kafka_server_brokertopicmetrics_replicationbytesout_total', replicas.replicaFetchBytes)
}

function addTotals(collector: Collector, { hosted, replicas }: TopicFigures): void {
  let atMinIsr = 0
  for (const { leader } of hosted) if (leader !== null && isAtMinIsr(leader)) atMinIsr += 1
  collector.add('kafka_server_replicamanager_leadercount', replicas.leaders)
  collector.add('kafka_server_replicamanager_partitioncount', replicas.partitions)
  collector.add('kafka_server_replicamanager_underreplicatedpartitions', replicas.partitionsUnderReplicated)
  collector.add('kafka_server_replicamanager_underminisrpartitioncount', replicas.partitionsUnderMinIsr)
  collector.add('kafka_server_replicamanager_atminisrpartitioncount', atMinIsr)
  collector.add('kafka_server_replicamanager_offlinereplicacount', replicas.partitionsOffline)
}

type Leader = NonNullable<Partition['leader']>

function isAtMinIsr({ isr, effectiveMinInsync }: Leader): boolean {
  return isr.length === effectiveMinInsync
}

function addPartition(collector: Collector, partition: Partition, image: MetadataImage, nodeId: number): void {
  const { topicPartition, log, leader } = partition
  const { topic, partition: index } = topicPartition
  const labels = { topic, partition: index }
  if (log !== null) {
    collector.addAll(labels, {
      kafka_log_log_size: log.bytes,
      kafka_log_log_logstartoffset: log.logStartOffset,
      kafka_log_log_logendoffset: log.endOffset,
      kafka_log_log_numlogsegments: log.segmentCount,
    })
  }
  const topicImage = image.topic(topic)
  const replicas = topicImage?.partitions[index]?.replicas
  if (leader === null || log === null || replicas === undefined) return
  if (index === 0) collector.add('kafka_topic_partitions', topicImage?.partitions.length ?? 0, { topic })
  collector.addAll(labels, {
    kafka_cluster_partition_replicascount: replicas.length,
    kafka_cluster_partition_insyncreplicascount: leader.isr.length,
    kafka_cluster_partition_underminisr: Number(leader.isUnderMinInsync),
    kafka_cluster_partition_atminisr: Number(isAtMinIsr(leader)),
    kafka_cluster_partition_underreplicated: Number(leader.isUnderReplicated),
    kafka_topic_partition_current_offset: partition.highWatermark,
    kafka_topic_partition_oldest_offset: log.logStartOffset,
    kafka_topic_partition_in_sync_replica: leader.isr.length,
    kafka_topic_partition_leader: nodeId,
    kafka_topic_partition_leader_is_preferred: Number(replicas[0] === nodeId),
    kafka_topic_partition_replicas: replicas.length,
    kafka_topic_partition_under_replicated_partition: Number(leader.isUnderReplicated),
  })
}

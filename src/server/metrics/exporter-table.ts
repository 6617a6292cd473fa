import type { Metric } from './metric.ts'

/**
 * The names of kafka_exporter, for dashboards made for it. It sees the whole cluster from outside; here each node tells of
 * what it leads and coordinates, so that all nodes together say each thing once.
 */
export const EXPORTER_METRICS = {
  kafka_brokers: { type: 'gauge', help: 'Brokers of the cluster, on the active controller.' },
  kafka_broker_info: { type: 'gauge', help: 'This broker; always 1.', labels: ['address', 'id'] },
  kafka_topic_partitions: {
    type: 'gauge',
    help: 'Partitions of the topic, on the node that leads the first one.',
    labels: ['topic'],
  },
  kafka_topic_partition_current_offset: partition('Where a consumer finds the end'),
  kafka_topic_partition_oldest_offset: partition('Where the log starts'),
  kafka_topic_partition_in_sync_replica: partition('Replicas in sync'),
  kafka_topic_partition_leader: partition('Node that leads'),
  kafka_topic_partition_leader_is_preferred: partition('1 where the first replica leads'),
  kafka_topic_partition_replicas: partition('Replicas'),
  kafka_topic_partition_under_replicated_partition: partition('1 where a replica is out of sync'),
  kafka_consumergroup_current_offset: position('Committed offset'),
  kafka_consumergroup_current_offset_sum: ofTopic('Sum of the committed offsets'),
  kafka_consumergroup_lag: {
    ...position('Records that the group has not read'),
    panel: {
      row: 'Consumer groups',
      title: 'Lag in records',
      expr: 'sum by (consumergroup, topic) ($name)',
      legend: '{{consumergroup}} {{topic}}',
    },
  },
  kafka_consumergroup_lag_sum: ofTopic('Records of the topic that the group has not read'),
  kafka_consumergroup_members: { type: 'gauge', help: 'Members of the group.', labels: ['consumergroup'] },
} as const satisfies Record<string, Metric>

function partition<H extends string>(help: H) {
  return { type: 'gauge', help: `${help}, on the leader.`, labels: ['partition', 'topic'] } as const
}

function position<H extends string>(help: H) {
  return { type: 'gauge', help: `${help}.`, labels: ['consumergroup', 'topic', 'partition'] } as const
}

function ofTopic<H extends string>(help: H) {
  return { type: 'gauge', help: `${help}.`, labels: ['consumergroup', 'topic'] } as const
}

import type { Metric } from './metric.ts'

/**
 * Names under which Strimzi's dashboards and rules look for a broker: the beans of Apache Kafka, as the JMX exporter writes
 * them by Strimzi's rules. What of theirs is not here, docs/monitoring.md says.
 */
export const KAFKA_METRICS = {
  kafka_server_brokertopicmetrics_messagesin_total: topic('Records appended for producers'),
  kafka_server_brokertopicmetrics_bytesin_total: topic('Bytes appended for producers'),
  kafka_server_brokertopicmetrics_bytesout_total: topic('Bytes sent to consumers'),
  kafka_server_brokertopicmetrics_totalproducerequests_total: topic('Partitions of Produce requests'),
  kafka_server_brokertopicmetrics_totalfetchrequests_total: topic(
    'Partitions of Fetch requests that were answered with records or an error',
  ),
  kafka_server_brokertopicmetrics_failedproducerequests_total: topic(
    'Partitions of Produce requests that were refused',
  ),
  kafka_server_brokertopicmetrics_failedfetchrequests_total: topic('Partitions of Fetch requests that were refused'),
  kafka_server_brokertopicmetrics_replicationbytesin_total: { type: 'counter', help: 'Bytes taken from leaders.' },
  kafka_server_brokertopicmetrics_replicationbytesout_total: { type: 'counter', help: 'Bytes sent to followers.' },
  kafka_server_replicamanager_leadercount: { type: 'gauge', help: 'Partitions led by this node.' },
  kafka_server_replicamanager_partitioncount: { type: 'gauge', help: 'Partitions on this node.' },
  kafka_server_replicamanager_underreplicatedpartitions: {
    type: 'gauge',
    help: 'Led partitions with a replica out of sync.',
  },
  kafka_server_replicamanager_underminisrpartitioncount: {
    type: 'gauge',
    help: 'Led partitions that refuse acks=all for want of copies.',
  },
  kafka_server_replicamanager_atminisrpartitioncount: {
    type: 'gauge',
    help: 'Led partitions that would refuse acks=all with one copy less.',
  },
  kafka_server_replicamanager_offlinereplicacount: {
    type: 'gauge',
    help: 'Partitions whose log failed on this node.',
  },
  kafka_server_replicamanager_isrshrinks_total: {
    type: 'counter',
    help: 'Times a replica of a led partition fell out of sync.',
  },
  kafka_server_replicamanager_isrexpands_total: {
    type: 'counter',
    help: 'Times a replica of a led partition came back in sync.',
  },
  kafka_cluster_partition_replicascount: partition('Replicas, on the leader'),
  kafka_cluster_partition_insyncreplicascount: partition('Replicas in sync, on the leader'),
  kafka_cluster_partition_underminisr: partition('1 where acks=all is refused for want of copies, on the leader'),
  kafka_cluster_partition_atminisr: partition('1 where acks=all would be refused with one copy less, on the leader'),
  kafka_cluster_partition_underreplicated: partition('1 where a replica is out of sync, on the leader'),
  kafka_log_log_size: partition('Bytes on this node'),
  kafka_log_log_logstartoffset: partition('Where the log starts on this node'),
  kafka_log_log_logendoffset: partition('Where the log ends on this node'),
  kafka_log_log_numlogsegments: partition('Segments on this node'),
  kafka_controller_kafkacontroller_activecontrollercount: {
    type: 'gauge',
    help: '1 on the node that decides on metadata.',
  },
  kafka_controller_kafkacontroller_offlinepartitionscount: {
    type: 'gauge',
    help: 'Partitions that nobody leads, on the active controller; 0 elsewhere.',
    panel: { row: 'Cluster', title: 'Partitions without a leader', expr: 'sum($name)', isNumber: true },
    alert: {
      name: 'MillraceOfflinePartitions',
      expr: 'sum($name) > 0',
      for: '1m',
      severity: 'critical',
      summary: 'Partitions have no leader',
      description:
        '{{ $value }} partitions can neither be read nor written: millrace cluster status says which and why.',
    },
  },
  kafka_controller_kafkacontroller_preferredreplicaimbalancecount: {
    type: 'gauge',
    help: 'Partitions that are not led by their first replica, on the active controller; 0 elsewhere.',
  },
  kafka_controller_kafkacontroller_globaltopiccount: {
    type: 'gauge',
    help: 'Topics of the cluster, on the active controller; 0 elsewhere.',
  },
  kafka_controller_kafkacontroller_globalpartitioncount: {
    type: 'gauge',
    help: 'Partitions of the cluster, on the active controller; 0 elsewhere.',
  },
  kafka_controller_kafkacontroller_activebrokercount: {
    type: 'gauge',
    help: 'Brokers that serve, on the active controller; 0 elsewhere.',
  },
  kafka_controller_kafkacontroller_fencedbrokercount: {
    type: 'gauge',
    help: 'Brokers that are registered and do not serve, on the active controller; 0 elsewhere.',
    alert: {
      name: 'MillraceBrokerMissing',
      expr: 'sum($name) > 0',
      for: '5m',
      severity: 'warning',
      summary: 'Brokers are missing',
      description: '{{ $value }} brokers are registered and do not serve.',
    },
  },
  kafka_network_requestmetrics_totaltimems: {
    type: 'gauge',
    help: 'From the complete request to its answer, since the start, estimated from the buckets of millrace_request_seconds.',
    labels: ['request', 'quantile'],
  },
  kafka_network_requestmetrics_totaltimems_count: { type: 'counter', help: 'Requests.', labels: ['request'] },
  kafka_network_requestmetrics_requests_total: { type: 'counter', help: 'Requests.', labels: ['request'] },
  kafka_server_socket_server_metrics_connection_count: {
    type: 'gauge',
    help: 'Open connections.',
    labels: ['listener', 'networkProcessor'],
  },
  kafka_server_raftmetrics_current_leader: {
    type: 'gauge',
    help: 'The controller that leads, as this node knows; -1: none.',
  },
  kafka_server_raftmetrics_current_epoch: { type: 'gauge', help: 'Epoch of the quorum.' },
  kafka_server_raftmetrics_high_watermark: { type: 'gauge', help: 'Committed metadata records, as this node knows.' },
  kafka_server_raftmetrics_current_state: {
    type: 'gauge',
    help: 'Part in the quorum; always 1.',
    labels: ['current_state'],
  },
} as const satisfies Record<string, Metric>

function topic<H extends string>(help: H) {
  return { type: 'counter', help: `${help}; without the label topic: of all topics.`, labels: ['topic'] } as const
}

function partition<H extends string>(help: H) {
  return { type: 'gauge', help: `${help}.`, labels: ['topic', 'partition'] } as const
}

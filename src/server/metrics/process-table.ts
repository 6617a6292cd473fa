import type { Metric } from './metric.ts'

/** Of the process, by the names that Prometheus' own client libraries use, and those of Strimzi's dashboards that fit. */
export const PROCESS_METRICS = {
  process_cpu_seconds_total: {
    type: 'counter',
    help: 'Processor time.',
    panel: {
      row: 'Process',
      title: 'Processors used',
      expr: 'rate($name[5m])',
      legend: '{{instance}}',
    },
  },
  process_resident_memory_bytes: {
    type: 'gauge',
    help: 'Memory.',
    panel: { row: 'Process', title: 'Memory', expr: '$name', unit: 'bytes', legend: '{{instance}}' },
  },
  process_start_time_seconds: { type: 'gauge', help: 'When it was started, in seconds since 1970.' },
  process_open_fds: { type: 'gauge', help: 'Open descriptors.' },
  millrace_event_loop_idle_ratio: {
    type: 'gauge',
    help: 'Share of the time since the last scrape in which the event loop had nothing to do.',
    panel: { row: 'Process', title: 'Event loop idle', expr: '$name', unit: 'percentunit', legend: '{{instance}}' },
    alert: {
      name: 'MillraceBusy',
      expr: '$name < 0.1',
      for: '10m',
      severity: 'warning',
      summary: 'A node is at its limit',
      description:
        'The event loop of {{ $labels.instance }} is idle for {{ $value | humanizePercentage }} of the time.',
    },
  },
  kafka_network_socketserver_networkprocessoravgidle_percent: {
    type: 'gauge',
    help: 'The same: one event loop does what network threads and request handlers do in Apache Kafka.',
  },
  kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent: { type: 'gauge', help: 'The same.' },
  kafka_server_kafkaserver_linux_disk_read_bytes: { type: 'counter', help: 'Bytes read from disks.' },
  kafka_server_kafkaserver_linux_disk_write_bytes: { type: 'counter', help: 'Bytes written to disks.' },
} as const satisfies Record<string, Metric>

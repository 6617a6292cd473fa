/** What dashboards and alert rules ask for is what a running node says. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Admin, Producer } from '../../src/embedded/client.ts'
import { METRICS } from '../../src/server/metrics/table.ts'
import { root } from '../support/files.ts'
import { run, until } from '../support/process.ts'
import { testServer } from '../support/test-server.ts'
import { missingTools } from '../support/toolchain.ts'

const HOUR_MS = 3_600_000
/** Only with several controllers. */
const SEVERAL_NODES = ['millrace_quorum_voter_end_offset']

/** What Strimzi's dashboards strimzi-kafka, strimzi-kraft and strimzi-kafka-exporter (which is kafka_exporter's too) ask brokers for, and its rules. */
const ASKED_BY_OTHERS = `
kafka_broker_info kafka_cluster_partition_atminisr kafka_cluster_partition_replicascount kafka_cluster_partition_underminisr
kafka_consumergroup_current_offset kafka_consumergroup_lag kafka_controller_kafkacontroller_activecontrollercount
kafka_controller_kafkacontroller_offlinepartitionscount kafka_log_log_size kafka_network_socketserver_networkprocessoravgidle_percent
kafka_server_brokertopicmetrics_bytesin_total kafka_server_brokertopicmetrics_bytesout_total
kafka_server_brokertopicmetrics_failedfetchrequests_total kafka_server_brokertopicmetrics_failedproducerequests_total
kafka_server_brokertopicmetrics_messagesin_total kafka_server_brokertopicmetrics_totalfetchrequests_total
kafka_server_brokertopicmetrics_totalproducerequests_total kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent
kafka_server_kafkaserver_linux_disk_read_bytes kafka_server_kafkaserver_linux_disk_write_bytes kafka_server_raftmetrics_current_epoch
kafka_server_raftmetrics_current_leader kafka_server_raftmetrics_current_state kafka_server_raftmetrics_high_watermark
kafka_server_replicamanager_leadercount kafka_server_replicamanager_partitioncount kafka_server_replicamanager_underminisrpartitioncount
kafka_server_replicamanager_underreplicatedpartitions kafka_server_socket_server_metrics_connection_count
kafka_topic_partition_current_offset kafka_topic_partition_in_sync_replica kafka_topic_partition_leader_is_preferred
kafka_topic_partition_oldest_offset kafka_topic_partition_replicas kafka_topic_partition_under_replicated_partition kafka_topic_partitions
process_open_fds`
  .trim()
  .split(/\s+/)

/** Names of the samples, those of histograms as the table has them; each with its lines. */
function samplesIn(text: string): Map<string, string[]> {
  const histograms = [...text.matchAll(/^# TYPE (\w+) histogram$/gm)].map(([, name]) => name as string)
  const samples = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const full = /^[a-z_]+/i.exec(line)?.[0]
    if (full === undefined) continue
    const name = histograms.find((histogram) => full.startsWith(`${histogram}_`)) ?? full
    samples.set(name, [...(samples.get(name) ?? []), line])
  }
  return samples
}

/** The metrics that an expression of PromQL names. */
function namesIn(expr: string): string[] {
  return [...expr.matchAll(/\b(?:millrace|kafka|process)_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''))
}

test('a running node has every metric of the table, and what dashboards and rules ask for', async (context) => {
  const server = await testServer(context, { kind: 'millrace', config: { 'log.retention.check.interval.ms': '200' } })
  await using admin = new Admin(server.address)
  await using producer = new Producer(server.address)
  await admin.createTopics([{ name: 'orders', partitions: 2, configs: { 'retention.ms': String(10 * HOUR_MS) } }])
  // Half an hour from its end; one record is deleted on demand before it is read.
  const timestampMs = Date.now() - 9.5 * HOUR_MS
  await Promise.all(
    [0, 0, 1, 1].map((partition) => producer.send({ topic: 'orders', partition, value: 'x', timestampMs })),
  )
  const offsets = [0, 1].map((partition) => ({ topic: 'orders', partition, offset: 0 }))
  await admin.groups.commitOffsets('billing', offsets)
  await admin.deleteRecords([{ topic: 'orders', partition: 1, offset: 1 }])
  const scrape = async () => samplesIn(await (await fetch(`http://${server.httpAddress}/metrics`)).text())
  const isComplete = (found: Map<string, unknown>) =>
    found.has('millrace_group_partition_at_risk') && found.has('millrace_group_records_lost_total')
  const samples = await until(
    'the group is known to be at risk',
    async () => {
      const found = await scrape()
      return isComplete(found) ? found : null
    },
    { timeoutMs: 20_000, everyMs: 100 },
  )

  const missing = Object.keys(METRICS).filter((name) => !samples.has(name))
  assert.deepEqual(missing, SEVERAL_NODES)
  assert.deepEqual(
    [...samples.keys()].filter((name) => !(name in METRICS)),
    [],
    'a metric that is not in the table',
  )
  const queried = ['grafana.json', 'alerts.yml'].flatMap((file) => {
    const text = readFileSync(join(root, 'docs', 'monitoring', file), 'utf8')
    return [...text.matchAll(/"?expr"?: (.*)$/gm)].flatMap(([, expr]) => namesIn(expr as string))
  })
  assert.ok(queried.length > 40, `${queried.length} names`)
  for (const name of [...queried, ...ASKED_BY_OTHERS]) assert.ok(samples.has(name), `${name} is asked for`)

  assert.deepEqual(samples.get('kafka_consumergroup_lag'), [
    'kafka_consumergroup_lag{consumergroup="billing",topic="orders",partition="0"} 2',
    'kafka_consumergroup_lag{consumergroup="billing",topic="orders",partition="1"} 1',
  ])
  assert.deepEqual(samples.get('millrace_group_records_lost_total'), [
    'millrace_group_records_lost_total{group="billing",topic="orders"} 1',
  ])
  const [lagLine = ''] = samples.get('millrace_group_lag_seconds') ?? []
  assert.ok(Math.abs(Number(lagLine.split(' ')[1]) - 9.5 * 3600) < 60, lagLine)
  const [leftLine = ''] = samples.get('millrace_group_time_left_seconds') ?? []
  assert.ok(Math.abs(Number(leftLine.split(' ')[1]) - 0.5 * 3600) < 60, leftLine)
  const inLine = 'kafka_server_brokertopicmetrics_messagesin_total{topic="orders"} 4'
  assert.ok(samples.get('kafka_server_brokertopicmetrics_messagesin_total')?.includes(inLine))
})

test('Prometheus takes the alert rules', async (context) => {
  if ((await missingTools(['promtool'])).length > 0) {
    context.skip('promtool is not installed (Debian: prometheus)')
    return
  }
  const { code, stdout, stderr } = await run('promtool', ['check', 'rules', join(root, 'docs/monitoring/alerts.yml')])
  assert.equal(code, 0, stdout + stderr)
})

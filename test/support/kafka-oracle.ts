import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory, temporaryDirectory } from './files.ts'
import { type Outcome, run, runOrFail } from './process.ts'

/** The Apache Kafka that everything is compared with. */
export const kafkaVersion = '4.4.0'

const artifacts = [
  ['org.apache.kafka', 'kafka_2.13', kafkaVersion],
  ['org.apache.kafka', 'kafka-tools', kafkaVersion],
  ['org.apache.kafka', 'connect-runtime', kafkaVersion],
  ['org.apache.kafka', 'kafka-streams', kafkaVersion],
  ['org.slf4j', 'slf4j-nop', '1.7.36'],
]

/** Kafka's own start script passes these. */
export const serverJvmFlags = [
  '-Xmx1G',
  '-Xms1G',
  '-server',
  '-XX:+UseG1GC',
  '-XX:MaxGCPauseMillis=20',
  '-XX:InitiatingHeapOccupancyPercent=35',
  '-XX:+ExplicitGCInvokesConcurrent',
  '-Djava.awt.headless=true',
]

/** Where the jars are or will be. `MILLRACE_KAFKA_LIBS` names a directory that has them already. */
export function kafkaLibs(): string {
  return process.env.MILLRACE_KAFKA_LIBS ?? join(cacheDirectory, `kafka-${kafkaVersion}`)
}

export function haveKafka(): boolean {
  const libs = kafkaLibs()
  return existsSync(libs) && readdirSync(libs).some((name) => name === `kafka_2.13-${kafkaVersion}.jar`)
}

/** Fetches the jars with Maven, once. They appear all together or not at all. */
export async function fetchKafka(): Promise<string> {
  const libs = kafkaLibs()
  if (haveKafka()) return libs
  const work = temporaryDirectory('maven')
  const dependencies = artifacts.map(
    ([group, artifact, version]) =>
      `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`,
  )
  writeFileSync(
    join(work, 'pom.xml'),
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>millrace</groupId><artifactId>kafka-oracle</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>${dependencies.join('\n')}</dependencies></project>`,
  )
  const partial = `${libs}.partial-${process.pid}`
  mkdirSync(partial, { recursive: true })
  await runOrFail('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${partial}`], { cwd: work })
  rmSync(libs, { recursive: true, force: true })
  renameSync(partial, libs)
  return libs
}

/** Short aliases for the classes behind Kafka's shell scripts. */
export const kafkaTools = {
  storage: 'kafka.tools.StorageTool',
  topics: 'org.apache.kafka.tools.TopicCommand',
  configs: 'org.apache.kafka.tools.ConfigCommand',
  'console-producer': 'org.apache.kafka.tools.ConsoleProducer',
  'console-consumer': 'org.apache.kafka.tools.consumer.ConsoleConsumer',
  'consumer-groups': 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
  'producer-perf-test': 'org.apache.kafka.tools.ProducerPerformance',
  'consumer-perf-test': 'org.apache.kafka.tools.ConsumerPerformance',
  'dump-log': 'org.apache.kafka.tools.DumpLogSegments',
  'get-offsets': 'org.apache.kafka.tools.GetOffsetShell',
  'metadata-quorum': 'org.apache.kafka.tools.MetadataQuorumCommand',
  'broker-api-versions': 'org.apache.kafka.tools.BrokerApiVersionsCommand',
  features: 'org.apache.kafka.tools.FeatureCommand',
  'log-dirs': 'org.apache.kafka.tools.LogDirsCommand',
  'delete-records': 'org.apache.kafka.tools.DeleteRecordsCommand',
  'reassign-partitions': 'org.apache.kafka.tools.reassign.ReassignPartitionsCommand',
  'leader-election': 'org.apache.kafka.tools.LeaderElectionCommand',
  cluster: 'org.apache.kafka.tools.ClusterTool',
  groups: 'org.apache.kafka.tools.GroupsCommand',
  transactions: 'org.apache.kafka.tools.TransactionsCommand',
  'share-groups': 'org.apache.kafka.tools.consumer.group.ShareGroupCommand',
  'streams-groups': 'org.apache.kafka.tools.streams.StreamsGroupCommand',
  'client-metrics': 'org.apache.kafka.tools.ClientMetricsCommand',
  acls: 'org.apache.kafka.tools.AclCommand',
  'e2e-latency': 'org.apache.kafka.tools.EndToEndLatency',
  'verifiable-producer': 'org.apache.kafka.tools.VerifiableProducer',
  'verifiable-consumer': 'org.apache.kafka.tools.VerifiableConsumer',
} as const
export type KafkaTool = keyof typeof kafkaTools

/** Arguments of `java` that run a tool. The small heap keeps several tools beside each other affordable. */
export function toolArguments(tool: KafkaTool | (string & {}), args: readonly string[], heap = '512M'): string[] {
  const className = tool in kafkaTools ? kafkaTools[tool as KafkaTool] : tool
  return [`-Xmx${heap}`, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=4', '-cp', `${kafkaLibs()}/*`, className, ...args]
}

/** Runs one of Kafka's command-line tools to its end. */
export function runTool(
  tool: KafkaTool | (string & {}),
  args: readonly string[],
  options: { input?: string; timeoutMs?: number } = {},
): Promise<Outcome> {
  return run('java', toolArguments(tool, args), options)
}

/** The configuration of a Kafka node in KRaft mode, broker and controller in one. */
export function kafkaProperties(options: {
  dataDirectory: string
  nodeId: number
  zone: string | null
  address: string
  controllerAddress: string
  /** All nodes of the cluster, by their controller listeners. */
  voters: readonly { nodeId: number; address: string }[]
  config: Readonly<Record<string, string>>
  dynamicVoters?: boolean
}): string {
  const properties: Record<string, string> = {
    'process.roles': 'broker,controller',
    'node.id': String(options.nodeId),
    listeners: `PLAINTEXT://${options.address},CONTROLLER://${options.controllerAddress}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    [options.dynamicVoters === true ? 'controller.quorum.bootstrap.servers' : 'controller.quorum.voters']:
      options.voters
        .map(({ nodeId, address }) => (options.dynamicVoters === true ? address : `${nodeId}@${address}`))
        .join(','),
    'log.dirs': options.dataDirectory,
    ...(options.zone === null ? {} : { 'broker.rack': options.zone }),
    ...(options.voters.length === 1 ? singleCopies : {}),
    'auto.create.topics.enable': 'false',
    ...options.config,
  }
  return `${Object.entries(properties)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')}\n`
}

/** One node cannot hold the three copies that Kafka wants of its own topics. */
const singleCopies: Readonly<Record<string, string>> = {
  'offsets.topic.replication.factor': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
}

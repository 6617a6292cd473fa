import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Case } from '../case.ts'
import { cluster } from './cases/cluster.ts'
import { configs } from './cases/configs.ts'
import { consoles } from './cases/console.ts'
import { groups } from './cases/groups.ts'
import { records } from './cases/records.ts'
import { topics } from './cases/topics.ts'
import { transactions } from './cases/transactions.ts'
import { ToolHost } from './host.ts'
import { Transcript } from './transcript.ts'

/** One JVM for all cases against both servers; it ends with this process. */
let host: ToolHost | null = null

/**
 * Kafka 4 writes this into its cluster's configs when it is made, and kafka-topics shows it with each topic. Millrace
 * leaves the default to the number of its nodes.
 */
const asKafka = 'configs --entity-type brokers --entity-default --alter --add-config min.insync.replicas=1'

function toolCase(name: string, title: string, run: (tools: Transcript) => Promise<void>): Case {
  return {
    name,
    title,
    needs: [],
    async run({ server }) {
      host ??= new ToolHost()
      const directory = join(server.dataDirectory, '..', `files-${name}`)
      mkdirSync(directory, { recursive: true })
      const transcript = new Transcript(host, server, directory)
      if (server.kind === 'millrace') await transcript.quietly(asKafka)
      await run(transcript)
      return transcript.entries
    },
  }
}

export const toolCases: readonly Case[] = [
  toolCase('tool-topics', 'kafka-topics: create, list, describe with every filter, alter, delete', topics),
  toolCase('tool-configs', 'kafka-configs: of topics, brokers, loggers, clients, groups', configs),
  toolCase(
    'tool-console',
    'kafka-console-producer and -consumer: keys, headers, nulls, codecs, offsets, groups',
    consoles,
  ),
  toolCase('tool-groups', 'kafka-consumer-groups: list, describe, every reset, export, delete; kafka-groups', groups),
  toolCase('tool-records', 'kafka-get-offsets, -delete-records, -verifiable-*, -*-perf-test, -e2e-latency', records),
  toolCase(
    'tool-cluster',
    'kafka-broker-api-versions, -features, -metadata-quorum, -cluster, -log-dirs, -leader-election, -reassign-partitions, -acls',
    cluster,
  ),
  toolCase('tool-transactions', 'kafka-transactions', transactions),
]

import { fetchKafka, kafkaVersion } from '../../support/kafka-oracle.ts'
import type { ClientDefinition } from '../client.ts'
import { toolCases } from '../tools/cases.ts'

/** Kafka's command-line tools: the same command lines against both servers. They list what is there, so these serve nobody else. */
export const kafkaTools: ClientDefinition = {
  name: 'kafka-tools',
  install: async () => {
    await fetchKafka()
  },
  command: null,
  cases: toolCases,
  version: async () => kafkaVersion,
  needsOwnServers: true,
}

import type { ClientDefinition } from './client.ts'
import { franzGo, kafkaGo, sarama } from './clients/go.ts'
import { javaClient } from './clients/java.ts'
import { kafkaTools } from './clients/kafka-tools.ts'
import { kcatClient } from './clients/kcat.ts'
import { nodeClients } from './clients/node.ts'
import { pythonClients } from './clients/python.ts'
import { rdkafka } from './clients/rust.ts'

/** These install and run within the time of CI. */
const quick: readonly ClientDefinition[] = [
  kcatClient,
  ...pythonClients,
  ...nodeClients,
  javaClient,
  franzGo,
  kafkaTools,
]

/** In the order of the table. */
export const clients: readonly ClientDefinition[] = [...quick, sarama, kafkaGo, rdkafka]

export const ciClients: readonly string[] = quick.map(({ name }) => name)

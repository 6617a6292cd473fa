import type { ClientDefinition } from './client.ts'
import { nodeClients } from './clients/node.ts'
import { pythonClients } from './clients/python.ts'

/** In the order of the table. */
export const clients: readonly ClientDefinition[] = [...pythonClients, ...nodeClients]

/** Those that install within the time of CI. */
export const ciClients: readonly string[] = ['confluent-kafka', 'kafka-python', 'aiokafka', 'millrace']

import type { ClientDefinition } from './client.ts'
import { nodeClients } from './clients/node.ts'

/** In the order of the table. */
export const clients: readonly ClientDefinition[] = [...nodeClients]

/** Those that install within the time of CI. */
export const ciClients: readonly string[] = ['millrace']

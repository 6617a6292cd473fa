import type { ClientDefinition } from './client.ts'
import { kcatClient } from './clients/kcat.ts'
import { nodeClients } from './clients/node.ts'
import { pythonClients } from './clients/python.ts'

/** These install within the time of CI. */
const quick: readonly ClientDefinition[] = [kcatClient, ...pythonClients, ...nodeClients]

/** In the order of the table. */
export const clients: readonly ClientDefinition[] = [...quick]

export const ciClients: readonly string[] = quick.map(({ name }) => name)

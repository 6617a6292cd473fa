import { join } from 'node:path'
import { root } from '../../support/files.ts'
import type { ClientDefinition } from '../client.ts'

/** npm ci has put them there. */
function nodeClient(name: string, file: string): ClientDefinition {
  const program = join(root, 'test', 'compat', 'adapters', 'node', file)
  return { name, install: async () => {}, command: () => [process.execPath, program] }
}

export const nodeClients: readonly ClientDefinition[] = [
  nodeClient('kafkajs', 'kafkajs.ts'),
  nodeClient('platformatic-kafka', 'platformatic.ts'),
  nodeClient('millrace', 'millrace.ts'),
]

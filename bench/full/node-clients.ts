import { join } from 'node:path'
import { root } from '../../test/support/files.ts'
import { runOrFail } from '../../test/support/process.ts'
import { withTopic } from '../one-node.ts'
import type { NodeClientName } from './node-clients/load.ts'
import type { Bench } from './parts.ts'

const BYTES = 1024
const RECORDS = 300_000
export const nodeClientNames: readonly NodeClientName[] = ['millrace', 'kafkajs', 'platformatic']

/** Clients for Node in turns, on the same Millrace node. Their figures stand under Millrace's side: Kafka has no part in it. */
export async function benchNodeClients(bench: Bench): Promise<void> {
  await bench.nodes.with('millrace', 'node-clients', async (server) => {
    for (let round = 0; round < bench.rounds; round++) {
      for (const client of nodeClientNames) {
        await withTopic(server, 'relaxed', async (topic) => {
          for (const what of ['produce', 'consume']) {
            const args = [client, what, server.address, topic, BYTES, RECORDS].map(String)
            const program = join(root, 'bench/full/node-clients/load.ts')
            const { perSecond } = JSON.parse(await runOrFail(process.execPath, [program, ...args])) as {
              perSecond: number
            }
            bench.figures.note(nodeClientFigure(client, what), 'millrace', perSecond)
          }
        })
      }
    }
  })
}

export function nodeClientFigure(client: NodeClientName, what: string): string {
  return `${client}: ${what} records/s`
}

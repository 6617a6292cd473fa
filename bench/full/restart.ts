import { produceWithJava, recordsPerGb } from '../clients.ts'
import { startToFirstAck } from '../first-ack.ts'
import { wait, withTopic } from '../one-node.ts'
import type { Bench } from './parts.ts'

/** A node that holds much dies while it is written to: how long until it acknowledges again. */
export async function benchRestart(bench: Bench): Promise<void> {
  for (const kind of bench.kinds) {
    await bench.nodes.with(kind, 'restart', async (server) => {
      await withTopic(server, 'relaxed', async (topic) => {
        await produceWithJava(server.address, topic, Math.round(bench.logGb * recordsPerGb))
        for (let time = 0; time < bench.rounds; time++) {
          await produceWithJava(server.address, topic, recordsPerGb / 10)
          await server.kill()
          bench.figures.note('restart after kill -9 with a large log ms', kind, await startToFirstAck(server, topic))
          await wait(1000)
        }
      })
    })
  }
}

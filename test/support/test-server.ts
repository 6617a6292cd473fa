import type { TestContext } from 'node:test'
import { removeTemporary, temporaryDirectory } from './files.ts'
import { Server, type ServerKind, type ServerOptions } from './server.ts'

/**
 * A running node for one test; killed and removed at its end. `MILLRACE_TEST_SERVER=kafka` runs the same tests against a
 * real Kafka, to see that they ask for nothing that Kafka does not do.
 */
export async function testServer(context: TestContext, options: Partial<ServerOptions> = {}): Promise<Server> {
  const directory = temporaryDirectory('node')
  const server = await Server.prepare({
    kind: (process.env.MILLRACE_TEST_SERVER ?? 'millrace') as ServerKind,
    directory,
    ...options,
    config: { 'offsets.topic.num.partitions': '2', 'group.initial.rebalance.delay.ms': '0', ...options.config },
  })
  context.after(async () => {
    await server.kill()
    removeTemporary(directory)
  })
  await server.start()
  return server
}

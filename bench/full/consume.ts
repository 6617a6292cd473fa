import { writeFileSync } from 'node:fs'
import { runOrFail } from '../../test/support/process.ts'
import type { Server } from '../../test/support/server.ts'
import { produceWithJava, recordsPerGb, type Transfer } from '../clients.ts'
import { consumeWithLibrdkafka, ConsumersAtWork } from '../librdkafka.ts'
import { brokerCpu, measure, warm, withTopic } from '../one-node.ts'
import type { Bench } from './parts.ts'

const GROUPS = 10

/** Reading by consumers that keep up, from the page cache and from a cold disk, one at a time and ten at once. */
export async function benchConsume(bench: Bench): Promise<void> {
  for (let round = 0; round < bench.rounds; round++) {
    const name = `consume-${round}`
    const servers = await Promise.all(bench.kinds.map((kind) => bench.nodes.prepare(kind, name)))
    for (const server of servers) {
      await server.start()
      await warm(server, Math.round(bench.warmGb * recordsPerGb), Math.round(bench.gb * recordsPerGb))
    }
    for (const server of servers) await consumeAll(server, bench)
    for (const server of servers) {
      await server.stop()
      bench.nodes.forget(server.kind, name)
    }
  }
}

async function consumeAll(server: Server, bench: Bench): Promise<void> {
  const records = Math.round(bench.gb * recordsPerGb)
  const { figures } = bench
  await withTopic(server, 'relaxed', async (topic) => {
    await tailing(server, topic, records, bench)
    const read = (readers: number) => (): Promise<Transfer> =>
      consumeWithLibrdkafka(server.address, topic, records, readers)
    await measure(server, figures, 'consume from page cache, 1 group', read(1))
    await measure(server, figures, `consume from page cache, ${GROUPS} groups`, read(GROUPS))
    await runOrFail('sync', [])
    await dropPageCache()
    await measure(server, figures, 'consume from cold disk, 1 group', read(1))
  })
}

/**
 * What consumers cost that read what was just written: the same production without and with them, the difference for each GB
 * that they read. The first production is not counted, so that both find the topic and the client's code alike.
 */
async function tailing(server: Server, topic: string, records: number, { figures }: Bench): Promise<void> {
  const produce = () => produceWithJava(server.address, topic, records)
  await produce()
  const [, alone] = await brokerCpu(server, produce)
  for (const readers of [1, GROUPS]) {
    const reading = await ConsumersAtWork.start(server.address, topic, { records, readers, from: 'end' })
    const [transfer, together] = await brokerCpu(server, async () => {
      await produce()
      return await reading.finished()
    })
    const seconds = Math.max(0, together - alone)
    const what = `consume from memory, ${readers} ${readers === 1 ? 'group' : 'groups'}`
    figures.note(`${what} cpu s/GB`, server.kind, (seconds / transfer.records) * recordsPerGb)
    figures.note(`${what} MB/s`, server.kind, transfer.megabytesPerSecond)
  }
}

/** Needs root; what is not written yet stays. */
async function dropPageCache(): Promise<void> {
  writeFileSync('/proc/sys/vm/drop_caches', '1')
}

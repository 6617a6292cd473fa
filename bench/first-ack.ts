import { makeBatch } from '../test/support/wire-batch.ts'
import { createTopic, produce } from '../test/support/wire-calls.ts'
import { Wire } from '../test/support/wire.ts'
import type { Server } from '../test/support/server.ts'

/**
 * Milliseconds from starting the process to the first acknowledged record (acks=all), by a bare socket that tries
 * every few milliseconds, so that no client's own start counts.
 */
export async function startToFirstAck(server: Server, topic: string): Promise<number> {
  if (server.kind === 'kafka') await server.kafkaFormat() // not counted: its users do it beforehand
  const start = performance.now()
  await server.launch()
  for (;;) {
    if (await acknowledges(server, topic)) return performance.now() - start
    if (server.process.hasEnded || performance.now() - start > 90_000)
      throw new Error(`${server.kind} took no record:\n${server.process.output()}`)
    await new Promise((resolve) => setTimeout(resolve, 3))
  }
}

async function acknowledges(server: Server, topic: string): Promise<boolean> {
  let wire: Wire
  try {
    wire = await Wire.connect(server.address, 1000)
  } catch {
    return false
  }
  try {
    const batch = makeBatch([{ value: Buffer.alloc(100) }])
    const first = await produce(wire, { topic, partition: 0, batch })
    if (first.errorCode === 0) return true
    // Unknown topic: the folder is new (after a crash: the node does not know it yet, and then it is there already).
    if (first.errorCode === 3) await createTopic(wire, topic, 1)
    return (await produce(wire, { topic, partition: 0, batch })).errorCode === 0
  } catch {
    return false
  } finally {
    wire.close()
  }
}

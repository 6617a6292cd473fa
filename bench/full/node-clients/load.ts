/**
 * `node load.ts CLIENT produce|consume ADDRESS TOPIC BYTES RECORDS`: one Node client, in a process of its own, as fast as it can;
 * prints {"perSecond": ...}. A third more goes before when producing, to warm it up; consuming is timed from the first record on.
 */
import { kafkajs } from './kafkajs.ts'
import { millrace } from './millrace.ts'
import { platformatic } from './platformatic.ts'
import type { Task } from './task.ts'

export const nodeClients = { millrace, kafkajs, platformatic }
export type NodeClientName = keyof typeof nodeClients

async function main([name, what, address, topic, bytes, count]: readonly string[]): Promise<void> {
  const client = nodeClients[name as NodeClientName]
  const records = Number(count)
  const value = Buffer.alloc(Number(bytes), 'a record of a benchmark. ')
  const task: Task = {
    address: address ?? '',
    topic: topic ?? '',
    value,
    warmUpRecords: Math.floor(records / 3),
    records,
  }
  let start = 0
  const begin = () => {
    start = performance.now()
  }
  await (what === 'consume' ? client.consume(task, begin) : client.produce(task, begin))
  console.log(JSON.stringify({ perSecond: records / ((performance.now() - start) / 1000) }))
  process.exit()
}

if (import.meta.main) await main(process.argv.slice(2))

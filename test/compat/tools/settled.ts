import { createTopic, deleteTopic, metadata } from '../../support/wire-calls.ts'
import { Wire } from '../../support/wire.ts'
import { until } from '../../support/process.ts'

let markers = 0

/**
 * Waits until the broker has applied every change of topics, configs and features that was answered before.
 *
 * A Kafka's controller answers a change when it is committed, and its broker hears of it later, change after change: what is read in
 * between is what was before. So a topic is made, and when the broker shows it, deleted. When the broker does not show it any
 * more, it has begun with a change after the first marker, thus is done with everything before that one; and nothing is left to be seen.
 */
export async function settled(address: string): Promise<void> {
  const wire = await Wire.connect(address)
  try {
    const marker = `settled-${++markers}`
    await createTopic(wire, marker, 1)
    await shows(wire, marker, true)
    await deleteTopic(wire, marker)
    await shows(wire, marker, false)
  } finally {
    wire.close()
  }
}

async function shows(wire: Wire, topic: string, wanted: boolean): Promise<void> {
  const probe = async () => {
    const found = (await metadata(wire, [topic])).topics[0]
    return (found?.errorCode === 0 && found.partitions.length > 0) === wanted ? true : null
  }
  await until(`${topic} is ${wanted ? 'there' : 'gone'}`, probe, { timeoutMs: 30_000, everyMs: 5 })
}

import type { Explanation } from './explanation.ts'
import { toolExplanations } from './tools/differences.ts'

/** Every difference from Apache Kafka that is meant. One that no run needs is an error. */
export const explanations: readonly Explanation[] = [
  {
    cases: ['consumer-protocol'],
    clients: null,
    at: /fails/,
    kafka: 'serves `group.protocol=consumer` (KIP-848)',
    millrace: 'does not yet, and does not list its APIs: librdkafka waits without a record',
    why: 'Leave the setting out; `classic` is the default of every client.',
  },
  {
    cases: ['describe-topic-configs'],
    clients: null,
    at: /durability\.mode/,
    kafka: 'has no `durability.mode`',
    millrace: 'lists it',
    why: 'It says whether an acknowledgement waits for the disk.',
  },
  {
    cases: ['describe-topic-configs', 'describe-broker-configs'],
    clients: null,
    at: /min\.insync\.replicas\/source/,
    kafka: 'gives `min.insync.replicas` as a dynamic default of all brokers',
    millrace: 'as the default',
    why: 'Formatting a Kafka with eligible leader replicas (KIP-966) writes this one config into the new cluster; the value is the same.',
  },
  ...toolExplanations,
]

/** Kafka's shell tools that this program can be, by their names; `.sh` behind it is the same. */
export const KAFKA_TOOLS: readonly string[] = [
  'kafka-topics',
  'kafka-configs',
  'kafka-consumer-groups',
  'kafka-console-producer',
  'kafka-console-consumer',
]

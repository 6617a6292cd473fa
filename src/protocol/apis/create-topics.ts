import {
  api,
  array,
  bool,
  int16,
  int32,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from '../schema.ts'

const topic = struct({
  name: string,
  // -1: the broker's default.
  numPartitions: int32,
  // -1: the broker's default.
  replicationFactor: int16,
  // When given, the two numbers above must be -1.
  assignments: array(struct({ partitionIndex: int32, brokerIds: array(int32) })),
  configs: array(struct({ name: string, value: string.nullable() })),
})

const config = struct({
  name: string,
  value: string.nullable(),
  readOnly: bool,
  configSource: int8.default(-1),
  isSensitive: bool,
})

const topicResult = struct({
  name: string,
  topicId: uuid.since(7).ignorable,
  errorCode: int16,
  errorMessage: string.nullable(),
  // Set when the client may not see the configs.
  topicConfigErrorCode: int16.since(5).tag(0).ignorable,
  numPartitions: int32.since(5, { absent: -1 }).ignorable,
  replicationFactor: int16.since(5, { absent: -1 }).ignorable,
  configs: array(config).nullable().since(5).ignorable,
  // Ours: what the creator should know although the topic is there. Kafka's message stays null then, and clients test that.
  note: string.nullable().since(5, { absent: null }).default(null).tag(10001).ignorable,
})

/**
 * Creates topics, by number of partitions and replication factor or by an assignment of replicas. Since version 4
 * both may be -1, the broker's defaults (KIP-464); since 5 the answer tells the configs (KIP-525), since 7 the topic
 * id.
 */
export const CreateTopics = api({
  key: 19,
  name: 'CreateTopics',
  versions: [2, 7],
  flexible: 5,
  listeners: ['broker', 'controller'],
  request: struct({
    topics: array(topic),
    timeoutMs: int32.default(60000),
    validateOnly: bool.default(false),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    topics: array(topicResult),
  }),
})
export type CreateTopicsRequest = RequestOf<typeof CreateTopics>
export type CreateTopicsResponse = ResponseOf<typeof CreateTopics>

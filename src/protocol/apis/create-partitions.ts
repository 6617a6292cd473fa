import { api, array, bool, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const topic = struct({
  name: string,
  count: int32,
  assignments: array(struct({ brokerIds: array(int32) })).nullable(),
})

const result = struct({
  name: string,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
  // Ours: what whoever asked should know although it is done.
  note: string.nullable().since(2, { absent: null }).default(null).tag(10001).ignorable,
})

/** Adds partitions to topics; `count` is the new total. Keys map to other partitions afterwards. */
export const CreatePartitions = api({
  key: 37,
  name: 'CreatePartitions',
  versions: [0, 3],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    topics: array(topic),
    timeoutMs: int32,
    validateOnly: bool,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    results: array(result),
  }),
})
export type CreatePartitionsRequest = RequestOf<typeof CreatePartitions>
export type CreatePartitionsResponse = ResponseOf<typeof CreatePartitions>

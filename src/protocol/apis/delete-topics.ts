import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const result = struct({
  name: string.nullable(6),
  topicId: uuid.since(6).ignorable,
  errorCode: int16,
  errorMessage: string.nullable().since(5, { absent: null }).ignorable,
})

/**
 * Deletes topics, since version 6 by id as well as by name (KIP-516); there a name that is not known comes back as
 * null.
 */
export const DeleteTopics = api({
  key: 20,
  name: 'DeleteTopics',
  versions: [1, 6],
  flexible: 4,
  listeners: ['broker', 'controller'],
  request: struct({
    topics: array(struct({ name: string.nullable().default(null), topicId: uuid })).since(6),
    topicNames: array(string).until(5).ignorable,
    timeoutMs: int32,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    responses: array(result),
  }),
})
export type DeleteTopicsRequest = RequestOf<typeof DeleteTopics>
export type DeleteTopicsResponse = ResponseOf<typeof DeleteTopics>

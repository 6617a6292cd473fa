import { api, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/** A member of a classic group says that it lives, and learns of a rebalance by REBALANCE_IN_PROGRESS. */
export const Heartbeat = api({
  key: 12,
  name: 'Heartbeat',
  versions: [0, 4],
  flexible: 4,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    generationId: int32,
    memberId: string,
    groupInstanceId: string.nullable().since(3, { absent: null }),
  }),
  response: struct({
    throttleTimeMs: int32.since(1).ignorable,
    errorCode: int16,
  }),
})
export type HeartbeatRequest = RequestOf<typeof Heartbeat>
export type HeartbeatResponse = ResponseOf<typeof Heartbeat>

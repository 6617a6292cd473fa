import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const coordinator = struct({
  key: string,
  nodeId: int32,
  host: string,
  port: int32,
  errorCode: int16,
  errorMessage: string.nullable(),
})

/**
 * Which broker coordinates a group (key type 0), a transactional id (1) or a share partition (2, since version 6,
 * KIP-932). Version 4 asks for several keys at once (KIP-699); one key and one answer stand in fields of their own
 * before.
 */
export const FindCoordinator = api({
  key: 10,
  name: 'FindCoordinator',
  versions: [0, 6],
  flexible: 3,
  listeners: ['broker'],
  request: struct({
    key: string.until(3),
    // 0 group, 1 transactional id, 2 share partition.
    keyType: int8.since(1),
    coordinatorKeys: array(string).since(4),
  }),
  response: struct({
    throttleTimeMs: int32.since(1).ignorable,
    errorCode: int16.until(3),
    errorMessage: string.nullable().since(1).until(3).ignorable,
    nodeId: int32.until(3),
    host: string.until(3),
    port: int32.until(3),
    coordinators: array(coordinator).since(4),
  }),
})
export type FindCoordinatorRequest = RequestOf<typeof FindCoordinator>
export type FindCoordinatorResponse = ResponseOf<typeof FindCoordinator>

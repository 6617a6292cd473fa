import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const result = struct({
  groupId: string,
  errorCode: int16,
  errorMessage: string.nullable().since(3, { absent: null }).ignorable,
})

/** Deletes groups that have no members, with their offsets (KIP-229). Version 3 says why one could not be deleted. */
export const DeleteGroups = api({
  key: 42,
  name: 'DeleteGroups',
  versions: [0, 3],
  flexible: 2,
  listeners: ['broker'],
  request: struct({
    groupsNames: array(string),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    results: array(result),
  }),
})
export type DeleteGroupsRequest = RequestOf<typeof DeleteGroups>
export type DeleteGroupsResponse = ResponseOf<typeof DeleteGroups>

import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const filter = struct({
  resourceTypeFilter: int8,
  resourceNameFilter: string.nullable(),
  patternTypeFilter: int8.default(3),
  principalFilter: string.nullable(),
  hostFilter: string.nullable(),
  operation: int8,
  permissionType: int8,
})

const matchingAcl = struct({
  errorCode: int16,
  errorMessage: string.nullable(),
  resourceType: int8,
  resourceName: string,
  patternType: int8.default(3),
  principal: string,
  host: string,
  operation: int8,
  permissionType: int8,
})

const filterResult = struct({
  errorCode: int16,
  errorMessage: string.nullable(),
  matchingAcls: array(matchingAcl),
})

/** Deletes the access rules that match filters, and tells which those were. */
export const DeleteAcls = api({
  key: 31,
  name: 'DeleteAcls',
  versions: [1, 3],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    filters: array(filter),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    filterResults: array(filterResult),
  }),
})
export type DeleteAclsRequest = RequestOf<typeof DeleteAcls>
export type DeleteAclsResponse = ResponseOf<typeof DeleteAcls>

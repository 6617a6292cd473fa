import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const acl = struct({
  principal: string,
  host: string,
  operation: int8,
  permissionType: int8,
})

const resource = struct({
  resourceType: int8,
  resourceName: string,
  patternType: int8.default(3),
  acls: array(acl),
})

/**
 * The access rules that match a filter; null in a filter matches all. Prefixed patterns since version 1 (KIP-290).
 */
export const DescribeAcls = api({
  key: 29,
  name: 'DescribeAcls',
  versions: [1, 3],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    resourceTypeFilter: int8,
    resourceNameFilter: string.nullable(),
    patternTypeFilter: int8.default(3),
    principalFilter: string.nullable(),
    hostFilter: string.nullable(),
    operation: int8,
    permissionType: int8,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
    resources: array(resource),
  }),
})
export type DescribeAclsRequest = RequestOf<typeof DescribeAcls>
export type DescribeAclsResponse = ResponseOf<typeof DescribeAcls>

import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const creation = struct({
  resourceType: int8,
  resourceName: string,
  resourcePatternType: int8.default(3),
  principal: string,
  host: string,
  operation: int8,
  permissionType: int8,
})

/** Adds access rules; prefixed patterns since version 1 (KIP-290). */
export const CreateAcls = api({
  key: 30,
  name: 'CreateAcls',
  versions: [1, 3],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    creations: array(creation),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    results: array(struct({ errorCode: int16, errorMessage: string.nullable() })),
  }),
})
export type CreateAclsRequest = RequestOf<typeof CreateAcls>
export type CreateAclsResponse = ResponseOf<typeof CreateAcls>

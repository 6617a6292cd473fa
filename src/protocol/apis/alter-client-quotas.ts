import { api, array, bool, float64, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const entry = struct({
  entity: array(struct({ entityType: string, entityName: string.nullable() })),
  ops: array(struct({ key: string, value: float64, remove: bool })),
})

const entryResult = struct({
  errorCode: int16,
  errorMessage: string.nullable(),
  entity: array(struct({ entityType: string, entityName: string.nullable() })),
})

/**
 * Sets and removes quotas of users, client ids and addresses (KIP-546). A null name is the default entity of its
 * type.
 */
export const AlterClientQuotas = api({
  key: 49,
  name: 'AlterClientQuotas',
  versions: [0, 1],
  flexible: 1,
  listeners: ['broker', 'controller'],
  request: struct({
    entries: array(entry),
    validateOnly: bool,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    entries: array(entryResult),
  }),
})
export type AlterClientQuotasRequest = RequestOf<typeof AlterClientQuotas>
export type AlterClientQuotasResponse = ResponseOf<typeof AlterClientQuotas>

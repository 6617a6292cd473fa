import {
  api,
  array,
  bool,
  float64,
  int16,
  int32,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
} from '../schema.ts'

const component = struct({
  entityType: string,
  matchType: int8,
  match: string.nullable(),
})

const entry = struct({
  entity: array(struct({ entityType: string, entityName: string.nullable() })),
  values: array(struct({ key: string, value: float64 })),
})

/** The quotas of the entities that match (KIP-546). Match types: 0 this name, 1 the default entity, 2 any name. */
export const DescribeClientQuotas = api({
  key: 48,
  name: 'DescribeClientQuotas',
  versions: [0, 1],
  flexible: 1,
  listeners: ['broker'],
  request: struct({
    components: array(component),
    strict: bool,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
    entries: array(entry).nullable(),
  }),
})
export type DescribeClientQuotasRequest = RequestOf<typeof DescribeClientQuotas>
export type DescribeClientQuotasResponse = ResponseOf<typeof DescribeClientQuotas>

import { api, array, bool, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const resource = struct({
  resourceType: int8,
  resourceName: string,
  configurationKeys: array(string).nullable(),
})

const configEntry = struct({
  name: string,
  value: string.nullable(),
  readOnly: bool,
  configSource: int8.default(-1),
  isSensitive: bool,
  synonyms: array(struct({ name: string, value: string.nullable(), source: int8 })),
  configType: int8.since(3).ignorable,
  documentation: string.nullable().since(3).ignorable,
})

const result = struct({
  errorCode: int16,
  errorMessage: string.nullable(),
  resourceType: int8,
  resourceName: string,
  configs: array(configEntry),
})

/**
 * The configs of topics (2), brokers (4), broker loggers (8), client metrics (16) and groups (32): value, source,
 * default or not. Synonyms since version 1 (KIP-226), type and documentation since 3 (KIP-569).
 */
export const DescribeConfigs = api({
  key: 32,
  name: 'DescribeConfigs',
  versions: [1, 4],
  flexible: 4,
  listeners: ['broker', 'controller'],
  request: struct({
    resources: array(resource),
    includeSynonyms: bool.default(false),
    includeDocumentation: bool.since(3),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    results: array(result),
  }),
})
export type DescribeConfigsRequest = RequestOf<typeof DescribeConfigs>
export type DescribeConfigsResponse = ResponseOf<typeof DescribeConfigs>

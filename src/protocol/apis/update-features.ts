import { api, array, bool, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const featureUpdate = struct({
  feature: string,
  maxVersionLevel: int16,
  allowDowngrade: bool.until(0),
  upgradeType: int8.since(1, { absent: 1 }),
})

const result = struct({
  feature: string,
  errorCode: int16,
  errorMessage: string.nullable(),
})

/**
 * Raises or lowers the finalized level of features, such as metadata.version (KIP-584); results per feature up to
 * version 1 only.
 */
export const UpdateFeatures = api({
  key: 57,
  name: 'UpdateFeatures',
  versions: [0, 2],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    timeoutMs: int32.default(60000),
    featureUpdates: array(featureUpdate),
    validateOnly: bool.since(1),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
    results: array(result).until(1).ignorable,
  }),
})
export type UpdateFeaturesRequest = RequestOf<typeof UpdateFeatures>
export type UpdateFeaturesResponse = ResponseOf<typeof UpdateFeatures>

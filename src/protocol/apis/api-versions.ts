import { api, array, bool, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/**
 * The first request on every connection: which APIs, in which versions, this server speaks. A client may come with a
 * version that we do not know; it is answered in version 0 with UNSUPPORTED_VERSION and our ranges (KIP-511).
 * Version 3 brings the client's name and the cluster's features (KIP-584), 4 features from version 0 (KAFKA-17011),
 * 5 whom the client believes to talk to (KIP-1242).
 */
export const ApiVersions = api({
  key: 18,
  name: 'ApiVersions',
  versions: [0, 5],
  flexible: 3,
  listeners: ['broker', 'controller'],
  // A client that does not know our versions yet must still find the body,
  // so this response keeps the old header for ever.
  responseHeader: 'v0',
  request: struct({
    clientSoftwareName: string.since(3).ignorable,
    clientSoftwareVersion: string.since(3).ignorable,
    // Whom the client believes to talk to; a mismatch is answered with REBOOTSTRAP_REQUIRED.
    clusterId: string.nullable().since(5, { absent: null }).ignorable,
    nodeId: int32.since(5, { absent: -1 }).ignorable,
  }),
  response: struct({
    errorCode: int16,
    apiKeys: array(struct({ apiKey: int16, minVersion: int16, maxVersion: int16 })),
    throttleTimeMs: int32.since(1).ignorable,
    supportedFeatures: array(struct({ name: string, minVersion: int16, maxVersion: int16 }))
      .since(3)
      .tag(0).ignorable,
    finalizedFeaturesEpoch: int64.since(3, { absent: -1 }).tag(1).ignorable,
    finalizedFeatures: array(struct({ name: string, maxVersionLevel: int16, minVersionLevel: int16 }))
      .since(3)
      .tag(2).ignorable,
    zkMigrationReady: bool.since(3).tag(3).ignorable,
  }),
})
export type ApiVersionsRequest = RequestOf<typeof ApiVersions>
export type ApiVersionsResponse = ResponseOf<typeof ApiVersions>

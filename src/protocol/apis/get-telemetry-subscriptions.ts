import {
  api,
  array,
  bool,
  int16,
  int32,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from '../schema.ts'

/** A client asks which of its metrics the cluster wants, and how often (KIP-714). */
export const GetTelemetrySubscriptions = api({
  key: 71,
  name: 'GetTelemetrySubscriptions',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    clientInstanceId: uuid,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    clientInstanceId: uuid,
    subscriptionId: int32,
    acceptedCompressionTypes: array(int8),
    pushIntervalMs: int32,
    telemetryMaxBytes: int32,
    deltaTemporality: bool,
    requestedMetrics: array(string),
  }),
})
export type GetTelemetrySubscriptionsRequest = RequestOf<typeof GetTelemetrySubscriptions>
export type GetTelemetrySubscriptionsResponse = ResponseOf<typeof GetTelemetrySubscriptions>

import { api, bool, bytes, int16, int32, int8, type RequestOf, type ResponseOf, struct, uuid } from '../schema.ts'

/** A client pushes its metrics, in OTLP, as subscribed (KIP-714). */
export const PushTelemetry = api({
  key: 72,
  name: 'PushTelemetry',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    clientInstanceId: uuid,
    subscriptionId: int32,
    terminating: bool,
    compressionType: int8,
    metrics: bytes,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
  }),
})
export type PushTelemetryRequest = RequestOf<typeof PushTelemetry>
export type PushTelemetryResponse = ResponseOf<typeof PushTelemetry>

/** The bounds of the connection layer. Each is named in the refusal or the pause it causes. */
export interface ConnectionLimits {
  /** `socket.request.max.bytes`: a larger frame closes the connection. */
  readonly requestBytesMax: number
  /** A larger first frame must carry the key of an API: else we do not even know that a Kafka client is speaking. */
  readonly firstRequestBytesMax: number
  readonly firstRequestDeadlineMs: number
  /** This long after the size of a frame has come, its bytes must have come at `frameBytesPerMsMin` and go on so. */
  readonly frameDeadlineMs: number
  readonly frameBytesPerMsMin: number
  /** The same while others wait for room in `nodeInFlightBytesMax`. */
  readonly frameDeadlineScarceMs: number
  readonly frameBytesPerMsScarceMin: number
  /** `connections.max.idle.ms` */
  readonly idleMs: number
  /** `max.connections` */
  readonly connectionsMax: number
  /** `max.connections.per.ip` */
  readonly connectionsPerIpMax: number
  /** `max.connections.per.ip.overrides`: address to its own maximum. */
  readonly connectionsPerIpOverrides: ReadonlyMap<string, number>
  /** `max.connection.creation.rate`: accepted connections per second, over bursts of one second. */
  readonly connectionsPerSecondMax: number
  /** Produce requests of one connection that may be under way together. */
  readonly callsInFlightMax: number
  /** Their bytes; one request alone may be larger. */
  readonly connectionInFlightBytesMax: number
  /** `queued.max.request.bytes`: bytes of requests that the node holds, all connections together. */
  readonly nodeInFlightBytesMax: number
  /** While more than this is unsent to a client, nothing more is read from it. */
  readonly unsentBytesMax: number
  /** Bytes of answers that the node holds for its clients, all connections together. */
  readonly answerBytesMax: number
  /** A client that takes no byte of its answers for so long is cut off. */
  readonly answerDeadlineMs: number
  /**
   * The same while there is no room left in `answerBytesMax`; then a client that takes fewer bytes than
   * `frameBytesPerMsMin` per millisecond is cut off too.
   */
  readonly answerDeadlineScarceMs: number
}

export const DEFAULT_LIMITS: ConnectionLimits = {
  requestBytesMax: 100 * 1024 * 1024,
  firstRequestBytesMax: 512 * 1024,
  firstRequestDeadlineMs: 30_000,
  frameDeadlineMs: 30_000,
  frameBytesPerMsMin: 16,
  frameDeadlineScarceMs: 5_000,
  frameBytesPerMsScarceMin: 64,
  idleMs: 600_000,
  connectionsMax: 20_000,
  connectionsPerIpMax: 2 ** 31 - 1,
  connectionsPerIpOverrides: new Map(),
  connectionsPerSecondMax: 2 ** 31 - 1,
  callsInFlightMax: 64,
  connectionInFlightBytesMax: 16 * 1024 * 1024,
  nodeInFlightBytesMax: 256 * 1024 * 1024,
  unsentBytesMax: 64 * 1024,
  answerBytesMax: 128 * 1024 * 1024,
  answerDeadlineMs: 60_000,
  answerDeadlineScarceMs: 10_000,
}

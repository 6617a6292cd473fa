import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection, ConnectionHandler } from '../../env/net.ts'
import { ApiVersions } from '../../protocol/apis/api-versions.ts'
import { Heartbeat } from '../../protocol/apis/heartbeat.ts'
import { decodeResponse, encodeRequest } from '../../protocol/codec.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import { AnswerBudget } from '../../replica/answer-budget.ts'
import { ByteBudget } from '../connections/byte-budget.ts'
import { ClientConnection, type ConnectionHost } from '../connections/client-connection.ts'
import { DEFAULT_LIMITS } from '../connections/limits.ts'
import { apiVersions } from '../handlers/api-versions.ts'
import { Dispatcher } from './dispatcher.ts'
import { type ServedApi, serve } from './served-api.ts'

const HEADER = { correlationId: 7, clientId: 'test' }

function serverOf(...apis: ServedApi[]) {
  const bugs: unknown[] = []
  const reasons: string[] = []
  const sent: Buffer[] = []
  const table = [apiVersions({ clusterId: 'here', nodeId: 1, apis, features }), ...apis]
  const dispatcher = new Dispatcher(table, (error) => bugs.push(error))
  let handler!: ConnectionHandler
  const connection = {
    local: { host: '127.0.0.1', port: 1 },
    remote: { host: '127.0.0.1', port: 2 },
    unsentBytes: 0,
    start: (given: ConnectionHandler) => {
      handler = given
    },
    pause() {},
    resume() {},
    write: (buffers: readonly Buffer[]) => sent.push(...buffers) > 0,
    end() {},
    destroy() {},
  } satisfies Connection
  const host: ConnectionHost = {
    limits: DEFAULT_LIMITS,
    budget: new ByteBudget(DEFAULT_LIMITS.nodeInFlightBytesMax),
    answers: new AnswerBudget(DEFAULT_LIMITS.answerBytesMax),
    monotonicMs: () => 0,
    dispatch: (client, frame) => dispatcher.dispatch(client, frame),
    serves: (apiKey) => dispatcher.serves(apiKey),
    refused: (_client, reason) => reasons.push(reason),
    closed() {},
    endpointOf: () => null,
  }
  new ClientConnection(connection, 'PLAINTEXT', host).start()
  return {
    bugs,
    reasons,
    dispatcher,
    send: (pieces: readonly Buffer[]) => handler.data(Buffer.concat(pieces)),
    /** The frames sent so far, without their sizes. */
    answers() {
      const stream = Buffer.concat(sent)
      const frames: Buffer[] = []
      for (let at = 0; at < stream.length; at += 4 + stream.readInt32BE(at)) {
        frames.push(stream.subarray(at + 4, at + 4 + stream.readInt32BE(at)))
      }
      return frames
    },
  }
}

function features() {
  return {
    supported: [
      { name: 'kraft.version', minVersion: 0, maxVersion: 1 },
      { name: 'metadata.version', minVersion: 7, maxVersion: 29 },
    ],
    finalized: [{ name: 'metadata.version', level: 29 }],
    epoch: 5,
  }
}

const heartbeat = { groupId: 'g', generationId: 1, memberId: 'm' }

test('only what is served is advertised, and a hidden or wider range is told as the handler says', () => {
  const server = serverOf(serve(Heartbeat, () => ({ errorCode: 0 }), { advertised: [0, 4], served: [3, 4] }))
  const client = { clientSoftwareName: 'kcat', clientSoftwareVersion: '1.7' }
  server.send(encodeRequest(ApiVersions, 3, HEADER, client))
  server.send(encodeRequest(ApiVersions, 4, HEADER, client))
  const [third, fourth] = server.answers().map((frame, index) => decodeResponse(ApiVersions, 3 + index, frame))
  assert.deepEqual(third?.apiKeys, [{ apiKey: 12, minVersion: 0, maxVersion: 4 }])
  assert.deepEqual(
    third?.supportedFeatures.map(({ name }) => name),
    ['metadata.version'],
  )
  assert.deepEqual(
    fourth?.supportedFeatures.map(({ name }) => name),
    ['kraft.version', 'metadata.version'],
  )
})

test('an ApiVersions of the future is answered in version 0 with the range to come back with', () => {
  const server = serverOf()
  const [frame] = encodeRequest(ApiVersions, 3, HEADER, { clientSoftwareName: 'a', clientSoftwareVersion: '1' })
  ;(frame as Buffer).writeInt16BE(99, 6)
  server.send([frame as Buffer])
  const answer = decodeResponse(ApiVersions, 0, server.answers()[0] as Buffer)
  assert.equal(answer.errorCode, ErrorCode.UNSUPPORTED_VERSION)
  assert.deepEqual(answer.apiKeys, [{ apiKey: 18, minVersion: 0, maxVersion: 5 }])
})

test('a client that looks for another cluster or node is sent back to its bootstrap servers', () => {
  const server = serverOf()
  const client = { clientSoftwareName: 'a', clientSoftwareVersion: '1' }
  const here = { clusterId: 'here', nodeId: 1 }
  for (const expected of [{ ...here, clusterId: 'there' }, { ...here, nodeId: 2 }, here, { nodeId: 1 }]) {
    server.send(encodeRequest(ApiVersions, 5, HEADER, { ...client, ...expected }))
  }
  const errors = server.answers().map((frame) => decodeResponse(ApiVersions, 5, frame).errorCode)
  assert.deepEqual(errors, [
    ErrorCode.REBOOTSTRAP_REQUIRED,
    ErrorCode.REBOOTSTRAP_REQUIRED,
    ErrorCode.NONE,
    ErrorCode.INVALID_REQUEST,
  ])
})

test('unknown keys, unserved versions and malformed bodies close the connection with the reason', () => {
  const unknown = serverOf()
  unknown.send(encodeRequest(Heartbeat, 4, HEADER, heartbeat))
  assert.deepEqual(unknown.reasons, ['API key 12 is not served here'])

  const old = serverOf(serve(Heartbeat, () => ({ errorCode: 0 }), { served: [3, 4] }))
  old.send(encodeRequest(Heartbeat, 2, HEADER, heartbeat))
  assert.deepEqual(old.reasons, ['Heartbeat version 2 is not served, 3 to 4 are'])

  const malformed = serverOf(serve(Heartbeat, () => ({ errorCode: 0 })))
  const frame = Buffer.concat(encodeRequest(Heartbeat, 4, HEADER, heartbeat))
  frame.writeInt32BE(frame.length - 5, 0)
  malformed.send([frame.subarray(0, frame.length - 1)])
  assert.match(malformed.reasons[0] ?? '', /^malformed request: /)
  assert.deepEqual(malformed.answers(), [])
})

test('an exception in a handler, now or later, is reported as a bug and answered to nobody', async () => {
  const server = serverOf(
    serve(Heartbeat, ({ generationId }) => {
      if (generationId === 1) throw new Error('now')
      return Promise.reject(new Error('later'))
    }),
  )
  server.send(encodeRequest(Heartbeat, 4, HEADER, heartbeat))
  const other = serverOf(serve(Heartbeat, () => Promise.reject(new Error('later'))))
  other.send(encodeRequest(Heartbeat, 4, HEADER, heartbeat))
  await new Promise(setImmediate)
  assert.deepEqual(
    [...server.bugs, ...other.bugs].map((error) => (error as Error).message),
    ['now', 'later'],
  )
  assert.deepEqual(server.answers(), [])
})

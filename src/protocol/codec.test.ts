import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MalformedError } from '../base/bytes.ts'
import { ApiVersions } from './apis/api-versions.ts'
import { Metadata } from './apis/metadata.ts'
import { Produce } from './apis/produce.ts'
import {
  correlationIdOf,
  decodeRequest,
  decodeRequestHeader,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  knowsVersion,
} from './codec.ts'
import { UnencodableError } from './field-error.ts'
import { InitProducerId } from './apis/init-producer-id.ts'

const header = { correlationId: 77, clientId: 'tester' }

function frameOf(pieces: readonly Buffer[]): Buffer {
  const all = Buffer.concat(pieces)
  assert.equal(all.readInt32BE(0), all.length - 4)
  return all.subarray(4)
}

test('a request tells what it is, and then what it says', () => {
  for (const version of [1, 9, 13]) {
    const frame = frameOf(encodeRequest(Metadata, version, header, { topics: [{ name: 'orders' }] }))
    const { apiKey, apiVersion, correlationId, clientId, reader } = decodeRequestHeader(frame)
    assert.deepEqual([apiKey, apiVersion, correlationId, clientId], [3, version, 77, 'tester'])
    const request = decodeRequest(Metadata, version, reader)
    assert.deepEqual(
      request.topics?.map(({ name }) => name),
      ['orders'],
    )
    assert.equal(request.allowAutoTopicCreation, true)
  }
})

test('a client need not say its id', () => {
  const frame = frameOf(encodeRequest(Metadata, 9, { correlationId: 1, clientId: null }, { topics: null }))
  assert.equal(decodeRequestHeader(frame).clientId, null)
})

test('the header of an API and version that nobody knows can be read', () => {
  const frame = Buffer.from('7fff' + '0063' + '00000005' + '0001' + '78' + 'fefefe', 'hex')
  const { apiKey, apiVersion, correlationId, clientId } = decodeRequestHeader(frame)
  assert.deepEqual([apiKey, apiVersion, correlationId, clientId], [32767, 99, 5, 'x'])
})

test('a header that is cut short is refused', () => {
  const whole = Buffer.from('0003' + '0009' + '00000005' + '0001' + '78', 'hex')
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => decodeRequestHeader(whole.subarray(0, length)), MalformedError)
  }
})

test('tags in headers are skipped', () => {
  const request = Buffer.from('0003' + '0009' + '00000005' + 'ffff' + '01' + '0002abcd' + '00' + '010000' + '00', 'hex')
  const { reader } = decodeRequestHeader(request)
  assert.equal(decodeRequest(Metadata, 9, reader).topics, null)
  const response = frameOf(encodeResponse(Produce, 9, 5, { responses: [] }))
  const tagged = Buffer.concat([response.subarray(0, 4), Buffer.from('010302abcd', 'hex'), response.subarray(5)])
  assert.deepEqual(decodeResponse(Produce, 9, tagged).responses, [])
})

test('the response of ApiVersions keeps its first header in all versions', () => {
  for (const version of [0, 3, 5]) {
    const frame = frameOf(encodeResponse(ApiVersions, version, 77, { errorCode: 35, apiKeys: [] }))
    assert.equal(correlationIdOf(frame), 77)
    assert.equal(frame.readInt16BE(4), 35)
    assert.equal(decodeResponse(ApiVersions, version, frame).errorCode, 35)
  }
})

test('bytes after a request are ignored, as Kafka ignores them', () => {
  const frame = frameOf(encodeRequest(Metadata, 9, header, { topics: [] }))
  const { reader } = decodeRequestHeader(Buffer.concat([frame, Buffer.from('junk')]))
  assert.deepEqual(decodeRequest(Metadata, 9, reader).topics, [])
})

test('record bytes travel by reference', () => {
  const batch = Buffer.alloc(5000, 7)
  const topicData = [{ topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', partitionData: [{ index: 0, records: [batch] }] }]
  const pieces = encodeRequest(Produce, 13, header, { acks: -1, timeoutMs: 1000, topicData })
  assert.ok(pieces.includes(batch))
  const { reader } = decodeRequestHeader(frameOf(pieces))
  const [records] = decodeRequest(Produce, 13, reader).topicData[0]?.partitionData[0]?.records ?? []
  assert.ok(records?.equals(batch))
  assert.equal(records?.buffer, reader.buffer.buffer)
})

test('errors say which message, version and field', () => {
  const frame = Buffer.from('0003' + '0001' + '00000005' + 'ffff' + '00000001' + '0005' + '6162', 'hex')
  assert.throws(
    () => decodeRequest(Metadata, 1, decodeRequestHeader(frame).reader),
    /^MalformedFieldError: Metadata request v1\.topics\[0\]\.name: 5 bytes wanted at 16, 2 left$/,
  )
  assert.throws(
    () => encodeRequest(Metadata, 9, header, { topics: [{ name: null }] }),
    (error) => error instanceof UnencodableError && error.path === 'Metadata request v9.topics[0].name',
  )
})

test('unstable versions are known but not among the versions', () => {
  assert.deepEqual(InitProducerId.versions, [0, 5])
  assert.ok(knowsVersion(InitProducerId, 6))
  assert.ok(!knowsVersion(InitProducerId, 7))
})

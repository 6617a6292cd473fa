import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ByteWriter } from '../base/bytes.ts'
import { apis } from './apis.ts'
import {
  correlationIdOf,
  decodeRequest,
  decodeRequestHeader,
  decodeResponse,
  encodeRequest,
  encodeResponse,
} from './codec.ts'
import { structDecoder } from './decode.ts'
import { allDefinitions } from './definitions.ts'
import { structEncoder } from './encode.ts'
import { ErrorCode, errorMessage, errorName, isRetriable } from './errors.ts'
import { structOf } from './layout.ts'
import { decodeMessage, encodeMessage } from './message-codec.ts'
import { MessageReader } from './message-reader.ts'
import {
  ControlRecordTypeSchema,
  EndTxnMarker,
  KRaftVersionRecord,
  LeaderChangeMessage,
  SnapshotFooterRecord,
  SnapshotHeaderRecord,
  VotersRecord,
} from './messages/control-records.ts'
import { decodeGroupRecord, encodeGroupRecord } from './messages/group-records.ts'
import { decodeMetadataRecord, encodeMetadataRecord } from './messages/metadata-records.ts'
import { decodeShareStateRecord, encodeShareStateRecord } from './messages/share-state-records.ts'
import { AbortedTxn, ProducerSnapshot } from './messages/storage-files.ts'
import { decodeTransactionRecord, encodeTransactionRecord } from './messages/transaction-records.ts'
import type { AnyApi, Message } from './schema.ts'

/** What Kafka and its clients sent and wrote is understood, and said again in the same bytes. */

function linesOf(file: string): string[][] {
  const text = readFileSync(join(import.meta.dirname, 'testdata', file), 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(' '))
}

function frameOf(pieces: readonly Buffer[]): string {
  const frame = Buffer.concat(pieces)
  assert.equal(frame.readInt32BE(0), frame.length - 4)
  return frame.subarray(4).toString('hex')
}

const apisByName = new Map([...apis.values()].map((api) => [api.name, api]))

test('frames of real clients and a real Kafka come back byte for byte', () => {
  const lines = linesOf('recorded-frames.txt')
  assert.ok(lines.length > 100)
  for (const [name = '', version = '', direction, client, bytes = ''] of lines) {
    const api = apisByName.get(name) as AnyApi
    const frame = Buffer.from(bytes, 'hex')
    const number = Number(version.slice(1))
    const again = direction === 'request' ? requestAgain(api, number, frame) : responseAgain(api, number, frame)
    assert.equal(again, bytes, `${name} ${version} ${direction} of ${client}`)
  }
})

function requestAgain(api: AnyApi, version: number, frame: Buffer): string {
  const header = decodeRequestHeader(frame)
  assert.deepEqual([header.apiKey, header.apiVersion], [api.key, version])
  return frameOf(encodeRequest(api, version, header, decodeRequest(api, version, header.reader)))
}

function responseAgain(api: AnyApi, version: number, frame: Buffer): string {
  return frameOf(encodeResponse(api, version, correlationIdOf(frame), decodeResponse(api, version, frame)))
}

const CONTROL_VALUES: readonly Message[] = [
  EndTxnMarker,
  EndTxnMarker,
  LeaderChangeMessage,
  SnapshotHeaderRecord,
  SnapshotFooterRecord,
  KRaftVersionRecord,
  VotersRecord,
]

function messageAgain(message: Message, bytes: Buffer): Buffer {
  const { version, value } = decodeMessage(message, bytes)
  return encodeMessage(message, version, value)
}

function controlRecordAgain(key: Buffer, value: Buffer): { key: Buffer; value: Buffer } {
  const { type } = decodeMessage(ControlRecordTypeSchema, key).value
  return {
    key: messageAgain(ControlRecordTypeSchema, key),
    value: messageAgain(CONTROL_VALUES[type] as Message, value),
  }
}

type KeyAndValue = { readonly key: Buffer | null; readonly value: Buffer | null }

function recordAgain(log: string, key: Buffer | null, value: Buffer | null): KeyAndValue {
  const version = value === null ? 0 : value.readInt16BE(0)
  switch (log) {
    case 'metadata': {
      const record = decodeMetadataRecord(value as Buffer)
      return { key: null, value: encodeMetadataRecord(record, record.version) }
    }
    case 'group':
      return encodeGroupRecord(found(decodeGroupRecord(key as Buffer, value)), version)
    case 'transaction':
      return encodeTransactionRecord(found(decodeTransactionRecord(key as Buffer, value)), version)
    case 'share-state':
      return encodeShareStateRecord(found(decodeShareStateRecord(key as Buffer, value)), version)
    case 'control':
      return controlRecordAgain(key as Buffer, value as Buffer)
    case 'producer-snapshot':
      return { key: null, value: messageAgain(ProducerSnapshot, value as Buffer) }
    case 'aborted-txn':
      return { key: null, value: messageAgain(AbortedTxn, value as Buffer) }
    default:
      throw new Error(`a record of ${log}`)
  }
}

function found<T>(record: T | null): T {
  assert.ok(record !== null, 'a kind of record that is not known')
  return record
}

test('records that a real Kafka wrote come back byte for byte', () => {
  const lines = linesOf('recorded-records.txt')
  assert.ok(lines.length > 50)
  const bytesOf = (text: string) => (text === '-' ? null : Buffer.from(text, 'hex'))
  for (const [log = '', key = '', value = ''] of lines) {
    const again = recordAgain(log, bytesOf(key), bytesOf(value))
    assert.equal(again.key?.toString('hex') ?? '-', key, `${log} ${key} ${value}`)
    assert.equal(again.value?.toString('hex') ?? '-', value, `${log} ${key} ${value}`)
  }
})

test('every structure in every version has the bytes that Kafka gives it', () => {
  const definitions = new Map(allDefinitions().map((definition) => [definition.name, definition]))
  const tried = new Set<string>()
  for (const [name = '', version = '', text = ''] of linesOf('agreed-with-kafka.txt')) {
    const { body, flexible } = found(definitions.get(name) ?? null)
    const variant = { version: Number(version), flexible: Number(version) >= flexible }
    const bytes = text === '-' ? '' : text
    const reader = new MessageReader(Buffer.from(bytes, 'hex'))
    const value = structDecoder(structOf(body), variant)(reader)
    assert.equal(reader.remaining, 0, `${name} v${version}`)
    const writer = new ByteWriter()
    structEncoder(structOf(body), variant)(writer, value)
    assert.equal(writer.toBuffer().toString('hex'), bytes, `${name} v${version}`)
    tried.add(`${name} ${version}`)
  }
  for (const { name, versions } of definitions.values()) {
    for (let version = versions[0]; version <= versions[1]; version++) assert.ok(tried.has(`${name} ${version}`), name)
  }
})

test("the error table is Kafka's", () => {
  const lines = linesOf('error-codes.txt')
  assert.equal(Object.keys(ErrorCode).length, lines.length)
  for (const [code, name, retry] of lines) {
    const number = Number(code)
    assert.equal(errorName(number), name)
    assert.equal(ErrorCode[name as keyof typeof ErrorCode], number)
    assert.equal(isRetriable(number), retry === 'retriable', name)
    assert.ok(errorMessage(number).length > 5)
  }
  assert.equal(errorName(9999), 'UNKNOWN(9999)')
  assert.equal(isRetriable(9999), false)
})

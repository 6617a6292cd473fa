import { crc32c } from '../../src/base/crc32c.ts'
import { ByteWriter } from '../../src/base/bytes.ts'
import { makeBatch, type Sequence } from '../support/wire-batch.ts'
import { frame, putString } from '../support/wire.ts'
import { topics } from './values.ts'

export interface Case {
  readonly name: string
  readonly apiKey: number
  readonly version: number
  readonly bytes: Buffer
  /** Why we answer otherwise than Kafka on purpose. */
  readonly differs?: string
}

const topic = topics[0] ?? ''

function body(fill: (writer: ByteWriter) => void): ByteWriter {
  const writer = new ByteWriter()
  fill(writer)
  return writer
}

function request(name: string, apiKey: number, version: number, fill: (writer: ByteWriter) => void): Case {
  return { name, apiKey, version, bytes: frame(apiKey, version, 7, body(fill)) }
}

function produceCase(
  name: string,
  batch: Buffer,
  options: { acks?: number; partition?: number; topic?: string } = {},
): Case {
  return request(`Produce, ${name}`, 0, 8, (w) => {
    putString(w, null)
    w.int16(options.acks ?? -1)
    w.int32(1000)
    w.int32(1)
    putString(w, options.topic ?? topic)
    w.int32(1)
    w.int32(options.partition ?? 0)
    w.int32(batch.length)
    w.bytes(batch)
  })
}

const good = () => makeBatch([{ key: Buffer.from('k'), value: Buffer.from('v') }, { value: Buffer.from('w') }])

/** A batch with some bytes set; its checksum is made right again unless told otherwise. */
function changed(at: number, bytes: readonly number[], options: { checksum?: boolean; batch?: Buffer } = {}): Buffer {
  const batch = options.batch ?? good()
  bytes.forEach((byte, index) => {
    batch[at + index] = byte
  })
  if (options.checksum !== false) batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

const sequenced = (sequence: Partial<Sequence>) =>
  makeBatch([{ value: Buffer.from('v') }], { producerId: 999_999, producerEpoch: 0, baseSequence: 0, ...sequence })

function produceCases(): Case[] {
  return [
    produceCase('a good batch', good()),
    produceCase('a wrong checksum', changed(17, [1, 2, 3, 4], { checksum: false })),
    produceCase('magic 1', changed(16, [1])),
    produceCase('magic 3', changed(16, [3])),
    produceCase('a base offset of 5', changed(0, [0, 0, 0, 0, 0, 0, 0, 5])),
    produceCase('codec 5', changed(21, [0, 5])),
    produceCase('the control bit', changed(21, [0, 0x20])),
    {
      ...produceCase('the transactional bit', changed(21, [0, 0x10])),
      differs: 'transactions are not served yet',
    },
    produceCase('gzip that is none', changed(21, [0, 1])),
    produceCase('a last offset delta of 9', changed(23, [0, 0, 0, 9])),
    produceCase('a last offset delta of -1', changed(23, [255, 255, 255, 255])),
    produceCase('a record count of 3', changed(57, [0, 0, 0, 3])),
    produceCase('a record count of 0', changed(57, [0, 0, 0, 0])),
    produceCase('a record count of -1', changed(57, [255, 255, 255, 255])),
    produceCase('a record count of 2^31-1', changed(57, [127, 255, 255, 255])),
    produceCase('a record longer than the batch', changed(61, [0x7e])),
    produceCase('a record of negative length', changed(61, [0x01])),
    produceCase('a batch length of 0', changed(8, [0, 0, 0, 0])),
    produceCase('a batch length of -1', changed(8, [255, 255, 255, 255])),
    produceCase('a batch longer than what was sent', changed(8, [0, 0, 127, 127])),
    produceCase('a batch cut short', good().subarray(0, 70)),
    produceCase('fewer bytes than a header', good().subarray(0, 30)),
    produceCase('no bytes', Buffer.alloc(0)),
    produceCase('two batches', Buffer.concat([good(), good()])),
    produceCase('bytes after the batch', Buffer.concat([good(), Buffer.alloc(3)])),
    produceCase('acks 2', good(), { acks: 2 }),
    produceCase('acks -2', good(), { acks: -2 }),
    produceCase('a partition that is not there', good(), { partition: 99 }),
    produceCase('partition -1', good(), { partition: -1 }),
    produceCase('a topic that is not there', good(), { topic: 'no-such-topic' }),
    produceCase('a topic with a slash', good(), { topic: 'a/b' }),
    produceCase('an empty topic name', good(), { topic: '' }),
    produceCase('an unknown producer at sequence 7', sequenced({ baseSequence: 7 })),
    produceCase('a producer without sequence', sequenced({ producerId: 999_998, baseSequence: -1 })),
    produceCase(
      'a timestamp a day ahead',
      makeBatch([{ value: Buffer.from('v') }], undefined, Date.now() + 86_400_000),
    ),
    produceCase('a timestamp of 0', makeBatch([{ value: Buffer.from('v') }], undefined, 0)),
    produceCase('a negative timestamp', makeBatch([{ value: Buffer.from('v') }], undefined, -5)),
    produceCase('a value over the limit', makeBatch([{ value: Buffer.alloc(1_100_000) }])),
  ]
}

function fetchCase(name: string, offset: number, options: { partition?: number; maxBytes?: number } = {}): Case {
  return request(`Fetch, ${name}`, 1, 4, (w) => {
    w.int32(-1)
    w.int32(0)
    w.int32(0)
    w.int32(options.maxBytes ?? 1000)
    w.int8(0)
    w.int32(1)
    putString(w, topic)
    w.int32(1)
    w.int32(options.partition ?? 0)
    w.int64(offset)
    w.int32(options.maxBytes ?? 1000)
  })
}

function frameCases(): Case[] {
  const header = (apiKey: number, version: number) => frame(apiKey, version, 7, new ByteWriter())
  const lengths = [-1, 2, 0x7fffffff].map((length) => {
    const bytes = header(18, 0)
    bytes.writeInt32BE(length, 0)
    return { name: `a frame of length ${length}`, apiKey: 18, version: 0, bytes }
  })
  const versions = [
    [18, 99],
    [18, -1],
    [3, 99],
    [0, 2],
    [0, 99],
    [1, 3],
    [4, 0],
    [999, 0],
    [-1, 0],
    [17, 0],
  ] as const
  return [
    ...lengths,
    ...versions.map(([apiKey, version]) => ({
      name: `API ${apiKey} version ${version}`,
      apiKey,
      version,
      bytes: header(apiKey, version),
      // Kafka cannot read past the header of a version it does not know; it must guess its form, and so do we.
      ...(apiKey === 18 && version === 99
        ? { differs: 'we answer ApiVersions of an unknown version also when its header is the old one' }
        : {}),
    })),
    request('Metadata, 2^31-1 topics', 3, 4, (w) => w.int32(0x7fffffff)),
    request('Metadata, a name past the end', 3, 4, (w) => {
      w.int32(1)
      w.int16(30_000)
    }),
    request('Metadata, a null name', 3, 4, (w) => {
      w.int32(1)
      w.int16(-1)
      w.int8(0)
    }),
    request('Metadata, a name not allowed', 3, 4, (w) => {
      w.int32(1)
      putString(w, 'a b')
      w.int8(0)
    }),
    request('Metadata, bytes after the end', 3, 4, (w) => {
      w.int32(0)
      w.int8(0)
      w.int32(5)
    }),
  ]
}

function createCase(
  name: string,
  create: { topic?: string; partitions?: number; replicas?: number; config?: [string, string] },
): Case {
  return request(`CreateTopics, ${name}`, 19, 4, (w) => {
    w.int32(1)
    putString(w, create.topic ?? 'new-topic')
    w.int32(create.partitions ?? 1)
    w.int16(create.replicas ?? 1)
    w.int32(0)
    w.int32(create.config === undefined ? 0 : 1)
    for (const text of create.config ?? []) putString(w, text)
    w.int32(1000)
    w.int8(1) // only validate: both sides stay as they are
  })
}

function topicCases(): Case[] {
  return [
    createCase('good', {}),
    createCase('one that is there', { topic }),
    createCase('an empty name', { topic: '' }),
    createCase('a name of one dot', { topic: '.' }),
    createCase('a name with a blank', { topic: 'a b' }),
    createCase('a name of 250 characters', { topic: 'x'.repeat(250) }),
    createCase('0 partitions', { partitions: 0 }),
    createCase('-2 partitions', { partitions: -2 }),
    createCase('three replicas on one node', { replicas: 3 }),
    createCase('0 replicas', { replicas: 0 }),
    createCase('an unknown config', { config: ['no.such.config', '1'] }),
    createCase('a config that is no number', { config: ['retention.ms', 'long'] }),
    createCase('a config out of range', { config: ['retention.ms', '-2'] }),
    createCase('a cleanup policy that is none', { config: ['cleanup.policy', 'burn'] }),
    createCase('a codec that is none', { config: ['compression.type', 'rar'] }),
  ]
}

/** Requests of which each is wrong in one point. */
export function crafted(): Case[] {
  return [
    ...frameCases(),
    ...produceCases(),
    fetchCase('the beginning', 0),
    fetchCase('past the end', 1_000_000),
    fetchCase('offset -1', -1),
    fetchCase('a partition that is not there', 0, { partition: 77 }),
    fetchCase('partition -1', 0, { partition: -1 }),
    fetchCase('no room', 0, { maxBytes: 0 }),
    fetchCase('negative room', 0, { maxBytes: -1 }),
    ...topicCases(),
  ]
}

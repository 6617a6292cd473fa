import type { Bytes, Command, RecordIn } from '../../protocol.ts'
import { bytesOf } from '../node/serve.ts'

/** Records that one run of kcat can send. */
export interface Group {
  readonly first: number
  readonly count: number
  readonly args: readonly string[]
  readonly input: Buffer
}

/** Between records, and between key and value: nothing that any of them holds. */
const [endOfRecord, endOfKey] = [
  '<end of record of the compatibility suite>',
  '<end of key of the compatibility suite>',
]

/** Partition, headers, and whether empty means null are said for all records of a run. */
export function produceGroups({ topic, records, codec, acks, idempotent, maxBytes }: Command<'produce'>): Group[] {
  const common = ['-P', '-t', topic, '-D', endOfRecord, '-z', codec, '-X', `acks=${acks}`, '-X', 'linger.ms=20']
  if (idempotent) common.push('-X', 'enable.idempotence=true')
  if (maxBytes !== undefined) common.push('-X', `message.max.bytes=${maxBytes}`)
  const groups: { first: number; key: string; records: RecordIn[] }[] = []
  for (const [index, record] of records.entries()) {
    const key = JSON.stringify(argumentsOf(record))
    const last = groups.at(-1)
    if (last?.key === key) last.records.push(record)
    else groups.push({ first: index, key, records: [record] })
  }
  return groups.map(({ first, key, records: together }) => ({
    first,
    count: together.length,
    args: [...common, ...(JSON.parse(key) as string[])],
    input: inputOf(together),
  }))
}

function inputOf(records: readonly RecordIn[]): Buffer {
  const parts: Buffer[] = []
  for (const record of records) {
    if (parts.length > 0) parts.push(Buffer.from(endOfRecord))
    parts.push(...bytes(record))
  }
  return Buffer.concat(parts)
}

function argumentsOf({ key, value, headers, partition }: RecordIn): string[] {
  const args = key === null ? [] : ['-K', endOfKey]
  if (value === null) args.push('-Z')
  if (partition !== undefined) args.push('-p', String(partition))
  for (const [name, bytesOfHeader] of headers) args.push('-H', headerText(name, bytesOfHeader))
  return args
}

function headerText(name: string, value: Bytes): string {
  return value === null ? name : `${name}=${Buffer.from(value, 'base64').toString()}`
}

function bytes({ key, value }: RecordIn): Buffer[] {
  const ofValue = bytesOf(value) ?? Buffer.alloc(0)
  return key === null ? [ofValue] : [Buffer.from(key, 'base64'), Buffer.from(endOfKey), ofValue]
}

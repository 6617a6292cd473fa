import { mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { ByteWriter } from '../../src/base/bytes.ts'
import type { Random } from '../../src/base/random.ts'
import { apis } from '../../src/protocol/apis.ts'
import { decodeResponse } from '../../src/protocol/codec.ts'
import { errorName } from '../../src/protocol/errors.ts'
import { readyTopic, retried } from '../support/retry.ts'
import { Server, type ServerKind } from '../support/server.ts'
import { apiVersions, findCoordinator } from '../support/wire-calls.ts'
import { crafted, type Case } from './refusal-cases.ts'
import { menuOf, wellFormed } from './inputs.ts'
import { frame } from '../support/wire.ts'
import { groups, topics } from './values.ts'

/** What a client sees: the error codes of the answer wherever they stand, or that the connection was closed. */
type Verdict = string

async function ask(port: number, { bytes, apiKey, version }: Case): Promise<Verdict> {
  const answer = await new Promise<Buffer | null>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    let received: Buffer = Buffer.alloc(0)
    let greeted = false
    const quit = (whole: Buffer | null) => {
      socket.destroy()
      resolve(whole)
    }
    socket.setTimeout(3000, () => quit(Buffer.alloc(0)))
    socket.on('error', () => quit(null))
    socket.on('close', () => quit(null))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      for (;;) {
        const end = received.length < 4 ? Number.POSITIVE_INFINITY : 4 + received.readInt32BE(0)
        if (received.length < end) return
        if (greeted) return quit(received.subarray(4, end))
        greeted = true
        received = received.subarray(end)
      }
    })
    // First what every client says first.
    socket.write(Buffer.concat([frame(18, 0, 1, new ByteWriter()), bytes]))
  })
  if (answer === null) return 'closed'
  if (answer.length === 0) return 'no answer'
  const api = apis.get(apiKey)
  if (api === undefined) return 'an answer'
  try {
    // An ApiVersions request of an unknown version is answered in version 0.
    const known = version <= api.versions[1] ? version : 0
    const codes = [...new Set(codesIn(decodeResponse(api, known, answer)))].sort((a, b) => a - b)
    return codes.length === 0 ? 'an answer' : codes.map((code) => errorName(code)).join(' ')
  } catch (error) {
    return `an unreadable answer: ${String(error)}`
  }
}

function codesIn(value: unknown): number[] {
  if (Array.isArray(value)) return value.flatMap(codesIn)
  if (value === null || typeof value !== 'object' || Buffer.isBuffer(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => (name === 'errorCode' ? [inner as number] : codesIn(inner)))
}

/** Why a difference in an answer to a generated request is as it should be. */
function explanation({ apiKey }: Case, ours: Verdict, theirs: Verdict): string | null {
  if (/UNKNOWN_SERVER_ERROR/.test(theirs) && !/UNKNOWN_SERVER_ERROR|closed/.test(ours)) {
    return 'Kafka fails inside and says UNKNOWN_SERVER_ERROR where we name the reason'
  }
  if (apiKey === 10 && /INVALID_REQUEST/.test(ours)) return 'transactions and share groups are not served yet'
  if (apiKey === 0 && ours === 'INVALID_REQUIRED_ACKS') return 'bad acks are refused before the topics are looked at'
  // Kafka counts the same topic named twice as duplicates, and looks at partitions before timestamps.
  if (apiKey === 2) return 'of several things wrong with a partition of ListOffsets another one is named'
  return null
}

/** Requests that only read: each side starts the next case in the state it was in. */
const harmless = new Set([0, 1, 2, 3, 9, 10, 12, 13, 14, 15, 16, 18, 23, 32, 35, 47, 60, 61, 74, 75])

function generated(random: Random, count: number, offered: ReadonlyMap<number, readonly [number, number]>): Case[] {
  const cases: Case[] = []
  const menu = menuOf(offered)
  while (cases.length < count) {
    const bytes = wellFormed(random, menu)
    const [apiKey, version] = [bytes.readInt16BE(4), bytes.readInt16BE(6)]
    const range = offered.get(apiKey)
    if (!harmless.has(apiKey) || range === undefined || version < range[0] || version > range[1]) continue
    const isSilent = apiKey === 0 && /* acks=0 */ bytes.includes(Buffer.from([0, 0, 0, 0, 0, 0]))
    if (!isSilent)
      cases.push({ name: `${apis.get(apiKey)?.name} v${version} #${cases.length}`, apiKey, version, bytes })
  }
  return cases
}

async function start(kind: ServerKind, directory: string): Promise<Server> {
  const home = join(directory, kind)
  mkdirSync(home)
  const server = await Server.start({ kind, directory: home, config: { 'group.initial.rebalance.delay.ms': '0' } })
  for (const topic of topics) await readyTopic(server.address, topic, 2)
  await retried(server.address, (wire) => findCoordinator(wire, groups[0] ?? ''))
  return server
}

/**
 * The same malformed and senseless requests to both; true when every answer is Kafka's or on the list of those that
 * differ for a reason. Prints each difference.
 */
export async function compareRefusals(directory: string, random: Random): Promise<boolean> {
  const [millrace, kafka] = [await start('millrace', directory), await start('kafka', directory)]
  const offered = await retried(millrace.address, apiVersions)
  const cases = [...crafted(), ...generated(random, 400, offered)]
  let equal = 0
  const explained = new Map<string, number>()
  const different: string[] = []
  for (const one of cases) {
    const [ours, theirs] = [await ask(millrace.port, one), await ask(kafka.port, one)]
    if (!millrace.isRunning) throw new Error(`the node died of ${one.name}:\n${millrace.process.output()}`)
    const reason = one.differs ?? explanation(one, ours, theirs)
    if (ours === theirs) equal++
    else if (reason !== null) explained.set(reason, (explained.get(reason) ?? 0) + 1)
    else different.push(`${one.name}: ${ours}; Kafka: ${theirs}`)
  }
  console.log(`${cases.length} requests: ${equal} answered as Kafka does`)
  for (const [reason, count] of explained) console.log(`  ${count} differ because ${reason}`)
  for (const line of different) console.log(`  differs: ${line}`)
  await millrace.stop()
  await kafka.stop()
  return different.length === 0
}

/**
 * `npm run differential -- [--requests 100000] [--seed 1] [--sequence N [--keep 0,3]] [--verbose]`
 *
 * The same sequences of requests to a real Apache Kafka and to Millrace, one server of each; the decoded answers must be equal field
 * by field, but for what `differences.ts` explains. A sequence that differs is made as short as it goes and printed with the
 * command that repeats it. `--sequence` runs one only, `--keep` only those of its requests.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { InitProducerId } from '../../src/protocol/apis/init-producer-id.ts'
import { until } from '../support/process.ts'
import { memoryDirectory, root } from '../support/files.ts'
import { readyTopic, retried } from '../support/retry.ts'
import { scriptOptions } from '../support/script-options.ts'
import { Server, type ServerKind } from '../support/server.ts'
import { findCoordinator } from '../support/wire-calls.ts'
import { differences } from './differences.ts'
import { differencesPage, PAGE } from './page.ts'
import { printFinding } from './print.ts'
import { type Both, runSequence, type Unexplained } from './run.ts'
import { makeSequence } from './sequence.ts'
import { shrink } from './shrink.ts'
import { SESSION_MS_MIN } from './steps/groups.ts'
import { FENCE_TOPIC, GROUP_PARTITIONS, type ServerLike, Side } from './side.ts'

const { values } = scriptOptions(import.meta.filename, {
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    sequence: { type: 'string' },
    keep: { type: 'string' },
    /** The number of the first sequence. */
    from: { type: 'string', default: '0' },
    /** The port of a Kafka that runs already, started with the settings below. */
    kafka: { type: 'string' },
    /** Stop after so many sequences that differ. */
    findings: { type: 'string', default: '20' },
    verbose: { type: 'boolean', default: false },
    /** Only write docs/differences.md. */
    page: { type: 'boolean', default: false },
  },
})

if (values.page) {
  writeFileSync(join(root, PAGE), differencesPage())
  process.exit(0)
}

const NEVER_MS = '2000000000'
/** The same for both; the rest are each other's defaults. What a server does by the clock must not come in the middle of a sequence. */
const config = {
  'group.initial.rebalance.delay.ms': '0',
  'offsets.topic.num.partitions': String(GROUP_PARTITIONS),
  'group.min.session.timeout.ms': String(SESSION_MS_MIN),
  'auto.create.topics.enable': 'false',
  'log.retention.check.interval.ms': NEVER_MS,
  'log.cleaner.backoff.ms': NEVER_MS,
  'offsets.retention.check.interval.ms': NEVER_MS,
}
/** One thread of each kind, so that requests are looked at in the order in which they were sent. */
const kafkaOnly = {
  'num.io.threads': '1',
  'num.network.threads': '1',
  'quorum.append.linger.ms': '0',
  'controller.quorum.append.linger.ms': '0',
  'group.coordinator.append.linger.ms': '0',
  'log.cleaner.enable': 'true',
}

/** From here on an entry of the table that nothing needed is one too many. */
const LONG_RUN_REQUESTS = 50_000

const NEW = { transactionalId: null, transactionTimeoutMs: 60_000 }

/** As Kafka acknowledges: how long a disk takes shall not decide which of two requests comes first. */
const millraceOnly = { 'log.durability.mode': 'relaxed' }

async function start(kind: ServerKind, directory: string): Promise<Server> {
  const home = join(directory, kind)
  mkdirSync(home)
  const all = { ...config, ...(kind === 'kafka' ? kafkaOnly : millraceOnly) }
  return Server.start({ kind, directory: home, config: all, heap: '384M', dynamicVoters: true })
}

async function ready(server: ServerLike): Promise<Side> {
  const { address, kind } = server
  await readyTopic(address, FENCE_TOPIC, 1)
  await retried(address, (wire) => findCoordinator(wire, 'any'))
  const side = new Side(server)
  const given = async () => ((await side.call(InitProducerId, 4, NEW)).errorCode === 0 ? true : null)
  await until(`${kind} gives out producer ids`, given, { timeoutMs: 30_000 })
  return side
}

const nowMs = Math.floor(Date.now() / 1000) * 1000 - 3_600_000
const seed = Number(values.seed)
const used = new Set<string>()
let runs = 0

async function run(both: Both, number: number, keep?: readonly number[]) {
  const prefix = `d${runs++}${given === null ? '' : `-${process.pid}`}-`
  const all = makeSequence({ seed, number }, prefix, nowMs)
  const steps = keep === undefined ? all : keep.flatMap((index) => all[index] ?? [])
  const result = await runSequence(both, steps, prefix, used).catch(async (error: Error) => {
    // A connection that breaks is noticed a moment before the process that broke it has ended.
    await until('', () => (node.isRunning ? null : true), { timeoutMs: 1000 }).catch(() => {})
    if (node.isRunning) throw error
    const names = steps.map(({ api, version }) => `${api.name} v${version}`).join(', ')
    throw new Error(`the node died in sequence ${number} (${names}):\n${node.process.output()}`)
  })
  return { steps, ...result }
}

/** The same fields of the same API: another difference found on the way would lead elsewhere. */
function sameFinding(one: Unexplained, other: Unexplained | null): boolean {
  if (other === null || one.step.api !== other.step.api) return false
  const paths = new Set(one.differences.map(({ path }) => path))
  return other.differences.some(({ path }) => paths.has(path))
}

/** What the differences of a finding are about: later ones of the same are counted only. */
function signatureOf({ step, differences: all }: Unexplained): string {
  const plain = (value: unknown) => (typeof value === 'object' && value !== null ? '…' : String(value))
  return all.map(({ path, theirs, ours }) => `${step.api.name} ${path}: ${plain(theirs)}; ${plain(ours)}`)[0] as string
}

async function report(both: Both, number: number, finding: Unexplained, indexes: readonly number[]): Promise<boolean> {
  const differs = async (kept: readonly number[]) => sameFinding(finding, (await run(both, number, kept)).unexplained)
  const upTo = indexes.slice(0, finding.shownAt + 1)
  if (!(await differs(upTo))) {
    console.log(`sequence ${number} differed once and not again:`)
    console.log(printFinding(makeSequence({ seed, number }, 'x', nowMs), finding))
    return false
  }
  const steps = makeSequence({ seed, number }, 'x', nowMs)
  const kept = (
    await shrink(
      upTo.map((index) => steps[index] as never),
      (some) => differs(some.map((i) => upTo[i] as number)),
    )
  ).map((i) => upTo[i] as number)
  const last = await run(both, number, kept)
  console.log(printFinding(last.steps, last.unexplained ?? finding))
  console.log(`  npm run differential -- --seed ${seed} --sequence ${number} --keep ${kept.join(',')} --verbose\n`)
  return true
}

const directory = memoryDirectory('differential')
const given = values.kafka === undefined ? null : Number(values.kafka)
const [kafkaServer, node] = await Promise.all([
  given === null ? start('kafka', directory) : null,
  start('millrace', directory),
])
const kafka = await ready(kafkaServer ?? { kind: 'kafka', port: given ?? 0, address: `127.0.0.1:${given}` })
const millrace = await ready(node)
const both: Both = { kafka, millrace }
const only = values.sequence === undefined ? null : Number(values.sequence)
const keep = values.keep?.split(',').map(Number)
const started = performance.now()
const seen = new Map<string, number>()
let [requests, findings, fleeting, parted] = [0, 0, 0, 0]
for (
  let number = only ?? Number(values.from);
  only === null ? requests < Number(values.requests) : number === only;
  number++
) {
  const { steps, unexplained, requests: sent, hasParted } = await run(both, number, keep)
  requests += sent
  if (hasParted) parted++
  if (values.verbose)
    console.log(`sequence ${number}: ${steps.map(({ api, version }) => `${api.name} v${version}`).join(', ')}`)
  if (unexplained === null) continue
  const signature = signatureOf(unexplained)
  const times = seen.get(signature) ?? 0
  seen.set(signature, times + 1)
  if (times > 0) findings++
  else if (await report(both, number, unexplained, keep ?? steps.map((_, index) => index))) findings++
  else fleeting++
  if (seen.size >= Number(values.findings)) break
}
const seconds = (performance.now() - started) / 1000
console.log(`${requests} requests in ${runs} sequences, ${Math.round(requests / seconds)} a second, seed ${seed}`)
for (const [signature, times] of seen) console.log(`${times} times ${signature}`)
console.log(`${findings} sequences differ without explanation, ${fleeting} differed once and not again`)
if (parted > 0) console.log(`${parted} sequences ended early, where Kafka made another member leader by chance`)
const idle = differences.filter(({ id }) => !used.has(id)).map(({ id }) => id)
if (idle.length > 0 && requests >= LONG_RUN_REQUESTS)
  console.log(`entries of the table that were not needed: ${idle.join(', ')}`)
kafka.close()
millrace.close()
await Promise.all([kafkaServer?.stop(), node.stop()])
process.exit(findings + fleeting === 0 ? 0 : 1)

/**
 * `npm run fuzz -- [--inputs 1000000] [--seed N] [--server kafka]`
 *
 * Malformed frames and batches over real sockets: requests made from our schemas with senseless values, the same with
 * bytes changed, cut or added, noise, and lengths that lie. The node must not die, its event loop must not stand still
 * for longer than 50 ms, and its memory must come back. `npm run fuzz -- refusals` compares its answers with a real Kafka's.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { residentBytes } from '../../bench/process-stats.ts'
import { Random } from '../../src/base/random.ts'
import { temporaryDirectory } from '../support/files.ts'
import { readyTopic, retried } from '../support/retry.ts'
import { scriptOptions } from '../support/script-options.ts'
import { Server, type ServerKind } from '../support/server.ts'
import { apiVersions, fetch, listOffset, produce } from '../support/wire-calls.ts'
import { makeBatch } from '../support/wire-batch.ts'
import { attackOnce, Recent, type Tally } from './attacker.ts'
import { liveBytes, longestStallMs, nodeProbe, Prober } from './health.ts'
import { menuOf } from './inputs.ts'
import { compareRefusals } from './refusals.ts'
import { topics } from './values.ts'

const stallMsMax = 50
const growthBytesMax = 16 * 2 ** 20

const { values, positionals } = scriptOptions(import.meta.filename, {
  allowPositionals: true,
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    server: { type: 'string', default: 'millrace' },
    connections: { type: 'string', default: '16' },
    /** Judged only when the machine has nothing else to do. */
    'stall-ms': { type: 'string', default: String(stallMsMax) },
  },
})
const directory = temporaryDirectory('fuzz')
const seed = Number(values.seed)
if (positionals[0] === 'refusals') {
  process.exit((await compareRefusals(directory, new Random(seed))) ? 0 : 1)
}

const server = await Server.start({
  env: nodeProbe(directory),
  kind: values.server as ServerKind,
  directory,
  config: { 'offsets.topic.num.partitions': '2', 'group.initial.rebalance.delay.ms': '0' },
})
for (const topic of topics) await readyTopic(server.address, topic, 2)
const isMillrace = server.kind === 'millrace'
const memory = () => (isMillrace ? liveBytes(server, directory) : residentBytes(server.process.pid))
const menu = menuOf(await retried(server.address, apiVersions))
const recent = new Recent()
const tally: Tally = { inputs: 0, answers: 0, closedByServer: 0, connections: 0, open: new Set() }

async function attack(inputs: number, random: Random): Promise<void> {
  const goal = tally.inputs + inputs
  const worker = async (own: Random) => {
    while (tally.inputs < goal && server.isRunning) {
      await attackOnce(server.port, own, tally, { quietMs: 100, recent, menu })
    }
  }
  const workers = Promise.all(Array.from({ length: Number(values.connections) }, () => worker(random.fork())))
  await Promise.race([workers, standstill()])
  if (!server.isRunning) {
    mkdirSync(join(directory, 'recent'))
    recent.inputs.forEach((input, index) => writeFileSync(join(directory, 'recent', `${index}.bin`), input))
    throw new Error(
      `the node died after ${tally.inputs} inputs, seed ${seed}; MILLRACE_KEEP=1 keeps ${directory}/recent\n${server.process.output()}`,
    )
  }
}

/** Rejects when nothing was sent for a while: the node, or this harness, hangs. */
async function standstill(): Promise<never> {
  for (let before = -1; tally.inputs !== before; ) {
    before = tally.inputs
    await new Promise((resolve) => setTimeout(resolve, 20_000).unref())
  }
  const answers = await retried(server.address, apiVersions, 5000).then(
    () => 'the node still answers',
    (error: Error) => `the node does not answer: ${error.message}`,
  )
  const open = [...tally.open].map(stateOf)
  throw new Error(
    `standstill after ${tally.inputs} inputs, seed ${seed}; ${answers}; open: ${open.join('; ')}\n${server.process.output()}`,
  )
}

function stateOf(socket: Socket): string {
  const { readyState, destroyed, writableLength, bytesWritten, bytesRead, localPort } = socket
  return `${readyState}${destroyed ? ', destroyed' : ''}, port ${localPort}, ${bytesWritten} written, ${writableLength} left, ${bytesRead} read`
}

/** The node still does its work for a client that behaves. */
async function serves(): Promise<void> {
  const topic = 'after'
  await readyTopic(server.address, topic, 1)
  await retried(server.address, async (wire) => {
    const value = Buffer.from('still here')
    const { errorCode } = await produce(wire, { topic, partition: 0, batch: makeBatch([{ value }]) })
    const offset = (await listOffset(wire, { topic, partition: 0, timestamp: -1 })) - 1
    const { records } = await fetch(wire, { topic, partition: 0, offset })
    if (errorCode !== 0 || !records.at(-1)?.value?.equals(value)) throw new Error('the node serves no longer')
  })
}

const inputs = Number(values.inputs)
const random = new Random(seed)
console.log(`fuzz: ${inputs} inputs on ${server.kind}, seed ${seed}`)
// Code is compiled and caches are filled by the first inputs; what they leave is the baseline.
const warming = Math.min(50_000, Math.ceil(inputs / 5))
await attack(warming, random.fork())
const baseline = await memory()
const prober = new Prober(server, directory)
const start = performance.now()
await attack(inputs - warming, random.fork())
const seconds = (performance.now() - start) / 1000
const longestMs = isMillrace ? await longestStallMs(directory) : null
const probed = await prober.finish()
const growth = (await memory()) - baseline
await serves()

const stall = longestMs ?? probed.longest
console.log(
  `${tally.inputs} inputs over ${tally.connections} connections, ${Math.round((inputs - warming) / seconds)} a second; ` +
    `${tally.answers} connections got answers, ${tally.closedByServer} were closed by the server`,
)
console.log(
  `longest stall ${stall.toFixed(1)} ms (${longestMs === null ? 'probed' : 'by its own measure'}; a prober waited ` +
    `${probed.longest.toFixed(1)} ms at most, ${probed.median.toFixed(2)} ms median); ` +
    `${(baseline / 2 ** 20).toFixed(1)} MiB alive, afterwards ${(growth / 2 ** 20).toFixed(1)} MiB more`,
)
await server.stop()
if (isMillrace) {
  if (stall > Number(values['stall-ms'])) throw new Error(`a stall of ${stall.toFixed(1)} ms`)
  if (growth > growthBytesMax) throw new Error(`memory grew by ${(growth / 2 ** 20).toFixed(1)} MiB`)
}
process.exit()

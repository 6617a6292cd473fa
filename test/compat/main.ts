/**
 * `npm run compat -- [--client NAME…] [--case NAME…] [--server both|kafka|millrace] [--at-once N] [--write] [--verbose]`
 *
 * Real clients against a real Millrace and a real Apache Kafka, through the same cases: what a client sees of the two must be
 * the same. Prints a table; the exit code is 1 when a case fails, or differs without being explained in differences.ts.
 * `--client ci` stands for the clients that CI runs. So many clients run at once (default 3): most of the time they wait. `--write` makes docs/compatibility.md of a run of everything.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { removeTemporary, temporaryDirectory } from '../support/files.ts'
import { scriptOptions } from '../support/script-options.ts'
import { Server, type ServerKind } from '../support/server.ts'
import { missingTools } from '../support/toolchain.ts'
import { commonCases } from './cases.ts'
import type { ClientDefinition } from './client.ts'
import { ciClients, clients } from './clients.ts'
import { judge, judgeAlone } from './compare.ts'
import { explanations } from './differences.ts'
import type { Explanation } from './explanation.ts'
import { printSummary, type Row, sayRow } from './report.ts'
import { ClientRun, type Outcome } from './run.ts'
import { writePage } from './page.ts'

const { values } = scriptOptions(import.meta.filename, {
  options: {
    client: { type: 'string', multiple: true, default: [] },
    case: { type: 'string', multiple: true, default: [] },
    server: { type: 'string', default: 'both' },
    write: { type: 'boolean', default: false },
    'at-once': { type: 'string', default: '3' },
    verbose: { type: 'boolean', default: false },
  },
})

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}

const kinds: ServerKind[] = values.server === 'both' ? ['kafka', 'millrace'] : [values.server as ServerKind]
if (!kinds.every((kind) => kind === 'kafka' || kind === 'millrace'))
  fail(`--server ${values.server}: both, kafka or millrace`)
const chosen = choose(values.client)
const isWhole = values.client.length === 0 && values.case.length === 0 && kinds.length === 2
if (values.write && !isWhole) fail('--write needs a run of everything: no --client, --case, --server')
const missing = kinds.includes('kafka') ? await missingTools(['kafka']) : []
if (missing.length > 0) fail(`needs ${missing.join(', ')}: npm run tools`)

function choose(names: readonly string[]): ClientDefinition[] {
  const wanted = names.flatMap((name) => (name === 'ci' ? ciClients : [name]))
  const known = clients.map(({ name }) => name)
  const unknown = wanted.find((name) => !known.includes(name))
  if (unknown !== undefined) fail(`--client ${unknown}: there are ${known.join(', ')}, and ci`)
  return wanted.length === 0 ? [...clients] : clients.filter(({ name }) => wanted.includes(name))
}

/** Both alike; a killed member is missed soon, and a group of few is not waited for long. */
const config = {
  'auto.create.topics.enable': 'false',
  'offsets.topic.num.partitions': '2',
  'group.initial.rebalance.delay.ms': '300',
  'group.min.session.timeout.ms': '1000',
}
const directory = temporaryDirectory('compat')

/** One of each kind, with a directory named for them. */
function startServers(name: string): Promise<Server[]> {
  return Promise.all(
    kinds.map((kind) => {
      const own = join(directory, name, kind)
      mkdirSync(own, { recursive: true })
      return Server.start({ kind, directory: own, config })
    }),
  )
}

/** By the name of the client they are for; most share. */
const started = new Map<string, Promise<Server[]>>()

function serversFor(client: ClientDefinition): Promise<Server[]> {
  const name = client.needsOwnServers === true ? client.name : 'shared'
  const servers = started.get(name) ?? startServers(name)
  started.set(name, servers)
  return servers
}

async function killAll(): Promise<void> {
  for (const servers of started.values()) for (const server of await servers) await server.kill()
}

async function runClient(client: ClientDefinition): Promise<Row[]> {
  const servers = await serversFor(client)
  const runs = servers.map((server) => new ClientRun(client, server, directory))
  const { version } = await (runs[0] as ClientRun).declaration()
  const cases = (client.cases ?? commonCases).filter(
    ({ name }) => values.case.length === 0 || values.case.includes(name),
  )
  const rows: Row[] = []
  for (const each of cases) {
    const began = performance.now()
    const outcomes = await Promise.all(runs.map((run) => run.run(each)))
    const verdict = verdictOf(client.name, each.name, outcomes)
    const suite = client.cases === undefined ? 'clients' : client.name
    const row = { client: client.name, version, suite, case: each, verdict, ms: performance.now() - began }
    sayRow(row, outcomes, values.verbose)
    rows.push(row)
  }
  await Promise.all(runs.map((run) => run.end()))
  return rows
}

function place(name: string): number {
  return clients.findIndex((client) => client.name === name)
}

function verdictOf(client: string, name: string, outcomes: readonly Outcome[]) {
  const [first, second] = outcomes
  if (first === undefined) throw new Error('no server')
  if (second === undefined) return judgeAlone(first)
  return judge({ client, case: name }, first, second, explanations, used)
}

const used = new Set<Explanation>()
const rows: Row[] = []
for (const client of chosen) await client.install()
const waiting = [...chosen]
async function lane(): Promise<void> {
  for (let client = waiting.shift(); client !== undefined; client = waiting.shift())
    rows.push(...(await runClient(client)))
}
await Promise.all(Array.from({ length: Math.max(1, Number(values['at-once'])) }, lane))
rows.sort((a, b) => place(a.client) - place(b.client))
const unused = isWhole ? explanations.filter((explanation) => !used.has(explanation)) : []
const isGood = printSummary(rows, unused)
if (values.write && isGood) writePage(rows, explanations)
await killAll()
if (isGood) removeTemporary(directory)
process.exitCode = isGood ? 0 : 1

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdownTable, writeBetweenMarks } from '../../../bench/report.ts'
import { run } from '../../support/process.ts'
import type { ServerKind } from '../../support/server.ts'
import { type BuiltSuite, builtSuite } from './build.ts'
import { kafkaHome, type Running, start } from './stages.ts'
import { excuses, type Item, items, type Stage } from './tests.ts'
import { type Verdict, verdicts } from './verdict.ts'

export interface SuiteOptions {
  readonly servers: readonly ServerKind[]
  /** Only these numbers; null: all. */
  readonly tests: readonly string[] | null
  readonly write: boolean
}

const testTimeoutMs = 420_000
/** Some tests wait for a machine of their own. */
const timeoutMultiplier = 2
const page = 'docs/compatibility-suites.md'

type Results = Map<string, Partial<Record<ServerKind, Verdict>>>

/** Runs the tests, prints a row for each and returns the exit code. */
export async function runLibrdkafka({ servers, tests, write }: SuiteOptions): Promise<number> {
  const chosen = items.filter(({ number }) => tests === null || tests.includes(number))
  if (chosen.length === 0)
    throw new Error(`no test ${tests?.join(', ')}; the numbers are in test/suites/librdkafka/tests.ts`)
  const suite = await builtSuite()
  const home = kafkaHome()
  const results: Results = new Map()
  for (const server of servers) {
    for (const stage of ['one', 'strict', 'three'] satisfies Stage[]) {
      const staged = chosen.filter((item) => item.stage === stage)
      if (staged.length > 0) await runStage(suite, { server, stage, items: staged, home, results })
    }
  }
  const summary = summaryOf(suite, servers, results)
  console.log(`\n${summary}`)
  if (write) writeBetweenMarks(page, 'librdkafka', summary)
  return faults(results).length === 0 ? 0 : 1
}

interface StageRun {
  readonly server: ServerKind
  readonly stage: Stage
  readonly items: readonly Item[]
  readonly home: string | null
  readonly results: Results
}

async function runStage(suite: BuiltSuite, { server, stage, items: staged, home, results }: StageRun): Promise<void> {
  const running = await start(server, stage)
  try {
    for (const item of staged) {
      for (const part of item.parts.length === 0 ? [null] : item.parts) {
        for (const verdict of await runOne(suite, running, item, part, home)) {
          const name = part === null ? verdict.name : `${verdict.name} ${part.replace('do_test_', '').replace(':', '')}`
          keep(results, name, server, verdict)
          console.log(`${server.padEnd(8)} ${verdict.status.padEnd(7)} ${name} ${verdict.reason}`)
        }
      }
    }
  } finally {
    await running.stop()
  }
}

/** A number may hold tests for several stages, each of which is left out in the others. */
function keep(results: Results, name: string, server: ServerKind, verdict: Verdict): void {
  const row = results.get(name) ?? {}
  if (row[server] === undefined || verdict.status !== 'skipped') results.set(name, { ...row, [server]: verdict })
}

/** A process of its own for each: a failure is an abort. */
async function runOne(
  suite: BuiltSuite,
  running: Running,
  { number, isFull }: Item,
  part: string | null,
  home: string | null,
): Promise<Verdict[]> {
  const source = join(suite.directory, '..')
  // Beside the sources: some tests read files of them.
  const work = mkdtempSync(join(source, 'run-'))
  const conf = join(work, 'test.conf')
  writeFileSync(conf, `metadata.broker.list=${running.addresses}\ntest.timeout.multiplier=${timeoutMultiplier}\n`)
  const outcome = await run(join(suite.directory, 'test-runner'), [...(isFull ? [] : ['-Q']), '-p1', '-L'], {
    cwd: work,
    timeoutMs: testTimeoutMs,
    env: {
      TESTS: number,
      TEST_KAFKA_VERSION: '4.0.0',
      TEST_SCENARIO: running.scenario,
      RDKAFKA_TEST_CONF: conf,
      BROKERS: running.addresses,
      LD_LIBRARY_PATH: `${join(source, 'src')}:${join(source, 'src-cpp')}`,
      ...(home === null ? {} : { KAFKA_PATH: home }),
      ...(part === null ? {} : { SUBTESTS: part }),
    },
  })
  rmSync(work, { recursive: true, force: true })
  return verdicts(outcome.stdout + outcome.stderr, outcome.code)
}

/** What fails on Millrace without an excuse, unless Kafka was asked and fails as well. */
function faults(results: Results): string[] {
  return [...results]
    .filter(([name, { millrace, kafka }]) => {
      return millrace?.status === 'failed' && kafka?.status !== 'failed' && excuses[name] === undefined
    })
    .map(([name]) => name)
}

function summaryOf({ version }: BuiltSuite, servers: readonly ServerKind[], results: Results): string {
  const passed = (server: ServerKind) => [...results.values()].filter((row) => row[server]?.status === 'passed').length
  const counts = servers.map(
    (server) => `${passed(server)} pass on ${server === 'kafka' ? 'Apache Kafka' : 'Millrace'}`,
  )
  const head = ['test', ...servers, 'reason']
  const rows = [...results]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, row]) => {
      return [name, ...servers.map((server) => row[server]?.status ?? ''), reasonOf(name, row)]
    })
  return `librdkafka ${version}: ${results.size} tests, ${counts.join(', ')}.\n\n${markdownTable(head, rows)}`
}

/** Where something did not pass: our excuse, else what the runner said. */
function reasonOf(name: string, { millrace, kafka }: Partial<Record<ServerKind, Verdict>>): string {
  const unpassed = [millrace, kafka].filter((verdict) => verdict !== undefined && verdict.status !== 'passed')
  if (unpassed.length === 0) return ''
  return (excuses[name] ?? unpassed[0]?.reason ?? '').replaceAll('|', '\\|').slice(0, 200)
}

/**
 * `npm run sim -- [--seeds N] [--first S] [--scenario NAME] [--seed S] [--with KNOB=VALUE]… [--shrink RUNS] [--twice] [--trace FILE] [--log]
 * [--folder DIR]`
 *
 * Runs the scenarios of `test/sim`, or of another folder. Exit code 1 when a promise was broken or two runs of one seed differ, 2 when the
 * arguments are wrong.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { type RunOptions, runScenario, type Scenario, scenarios } from './scenario.ts'
import { shrink } from './shrink.ts'
import { RunFailure, type RunReport, type Sim } from './sim.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LOG_LINES_SHOWN = 40
const STEPS_SHOWN = 20

interface Arguments {
  readonly chosen: readonly Scenario[]
  readonly seedsOf: (scenario: Scenario) => readonly number[]
  readonly twice: boolean
  /** Prints `hash <scenario> <seed> <hash>` for each run and nothing else. */
  readonly hashesOnly: boolean
  readonly prepare: (sim: Sim) => void
  readonly knobs: ReadonlyMap<string, string>
  /** How many runs may be spent on making a failure smaller. */
  readonly shrinkRuns: number
  /** To be handed to another process so that it does the same. */
  readonly selection: readonly string[]
}

async function main(): Promise<number> {
  const parsed = await readArguments()
  if (typeof parsed === 'string') {
    console.error(parsed)
    return 2
  }
  const hashes = new Map<string, string>()
  let failures = 0
  for (const scenario of parsed.chosen) failures += await runAll(scenario, parsed, hashes)
  if (parsed.twice && failures === 0) failures += await compareWithAnotherProcess(parsed, hashes)
  return failures > 0 ? 1 : 0
}

async function readArguments(): Promise<Arguments | string> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      first: { type: 'string', default: '1' },
      seed: { type: 'string' },
      scenario: { type: 'string' },
      twice: { type: 'boolean', default: false },
      hashes: { type: 'boolean', default: false },
      trace: { type: 'string' },
      log: { type: 'boolean', default: false },
      folder: { type: 'string', default: 'test/sim' },
      with: { type: 'string', multiple: true, default: [] },
      shrink: { type: 'string', default: '0' },
    },
  })
  await loadScenarios(path.resolve(ROOT, values.folder))
  const all = scenarios()
  const chosen = all.filter(({ name }) => name.includes(values.scenario ?? ''))
  if (chosen.length === 0) {
    const names = all.map(({ name }) => `  ${name}`).join('\n')
    return `no scenario's name contains '${values.scenario}'. There are:\n${names}`
  }
  const [first, count] = [Number(values.first), Number(values.seeds ?? Number.NaN)]
  const seedsOf = ({ options }: Scenario) => {
    if (values.seed !== undefined) return [Number(values.seed)]
    return Array.from({ length: values.seeds === undefined ? options.seeds : count }, (_, i) => first + i)
  }
  const selection = ['seeds', 'first', 'seed', 'scenario', 'folder'].flatMap((name) => {
    const value = values[name as keyof typeof values]
    return value === undefined ? [] : [`--${name}`, String(value)]
  })
  const knobs = new Map(values.with.map((text) => text.split('=', 2) as [string, string]))
  const trace = values.trace === undefined ? null : fs.createWriteStream(values.trace)
  return {
    chosen,
    seedsOf,
    twice: values.twice,
    hashesOnly: values.hashes,
    selection: [...selection, ...values.with.flatMap((text) => ['--with', text])],
    knobs,
    shrinkRuns: Number(values.shrink),
    prepare(sim) {
      if (trace) sim.scheduler.onStep = (line) => trace.write(`${line}\n`)
      if (values.log) sim.logs.onLine = (line) => fs.writeSync(2, `${line}\n`)
    },
  }
}

async function loadScenarios(folder: string): Promise<void> {
  for (const file of fs.readdirSync(folder).sort()) {
    if (file.endsWith('.sim.ts')) await import(pathToFileURL(path.join(folder, file)).href)
  }
}

/** Runs the seeds of one scenario up to the first failure; returns the number of failures. */
async function runAll(scenario: Scenario, parsed: Arguments, hashes: Map<string, string>): Promise<number> {
  const { seedsOf, prepare, hashesOnly, knobs } = parsed
  const seeds = seedsOf(scenario)
  const startMs = performance.now()
  let steps = 0
  let virtualMs = 0
  for (const seed of seeds) {
    let report: RunReport
    try {
      report = await runScenario(scenario, seed, { prepare, knobs, isExplained: seeds.length === 1 })
    } catch (error) {
      if (!(error instanceof RunFailure)) throw error
      await explain(scenario, error, parsed)
      return 1
    }
    steps += report.steps
    virtualMs += report.virtualMs
    hashes.set(`${scenario.name} ${seed}`, report.hash)
    if (hashesOnly) console.log(`hash ${scenario.name} ${seed} ${report.hash}`)
  }
  if (!hashesOnly) {
    const seconds = (performance.now() - startMs) / 1000
    const rate = `${Math.round(steps / seconds)} events/s, ${Math.round(virtualMs / 1000 / seconds)} times real time`
    console.log(`ok    ${scenario.name}: ${seeds.length} seeds, ${steps} events in ${seconds.toFixed(1)} s (${rate})`)
    if (seeds.length === 1) console.log(`      hash ${hashes.get(`${scenario.name} ${seeds[0]}`)}`)
  }
  return 0
}

/** Tells the failure, or a smaller one of its kind, with what the first run left out to be fast. */
async function explain(scenario: Scenario, failure: RunFailure, { knobs, shrinkRuns }: Arguments): Promise<void> {
  const { seed } = failure.report
  const given = shrinkRuns === 0 ? knobs : await shrunk(scenario, failure, shrinkRuns)
  const again = await failureOf(scenario, seed, { knobs: given, isExplained: true })
  tellFailure(scenario, again ?? failure, given)
}

async function shrunk(scenario: Scenario, failure: RunFailure, runsMax: number): Promise<ReadonlyMap<string, string>> {
  const kind = kindOf(failure)
  const attempt = async (knobs: ReadonlyMap<string, string>) => {
    const found = await failureOf(scenario, failure.report.seed, { knobs, isExplained: false })
    return found !== null && kindOf(found) === kind ? found.knobs : null
  }
  return shrink(failure.knobs, attempt, runsMax)
}

async function failureOf(scenario: Scenario, seed: number, options: RunOptions): Promise<RunFailure | null> {
  try {
    await runScenario(scenario, seed, options)
    return null
  } catch (error) {
    if (error instanceof RunFailure) return error
    throw error
  }
}

/** What went wrong, without what another run would tell differently. */
function kindOf({ cause }: RunFailure): string {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  return (text.split('\n')[0] as string).replaceAll(/\d+/g, '#')
}

function tellFailure({ name }: Scenario, failure: RunFailure, knobs: ReadonlyMap<string, string>): void {
  const { report, recentSteps, logLines, cause } = failure
  const turned = [...knobs].map(([knob, value]) => ` --with '${knob}=${value}'`).join('')
  console.log(`FAIL  ${name}`)
  console.log(`${logLines.slice(-LOG_LINES_SHOWN).join('\n')}\n`)
  console.log(`the last steps:\n${recentSteps.slice(-STEPS_SHOWN).join('\n')}\n`)
  console.log(failure.message)
  if (cause instanceof Error) console.log(cause.stack?.split('\n').slice(1).join('\n'))
  console.log(`\nhash ${report.hash}. Again:\n  npm run sim -- --scenario '${name}' --seed ${report.seed}${turned}\n`)
}

/**
 * The same seeds in a process of another heap, time zone and language: what differs there reached past the simulator.
 * Returns the number of differences.
 */
async function compareWithAnotherProcess(
  { selection }: Arguments,
  hashes: ReadonlyMap<string, string>,
): Promise<number> {
  const self = fileURLToPath(import.meta.url)
  const env = { ...process.env, TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8' }
  const child = spawn(process.execPath, ['--max-semi-space-size=1', self, ...selection, '--hashes'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let [seen, different] = [0, 0]
  for await (const line of createInterface(child.stdout)) {
    const match = /^hash (.*) (\S+)$/.exec(line)
    if (match === null) {
      console.log(line)
      continue
    }
    seen++
    const expected = hashes.get(match[1] as string)
    if (expected === match[2]) continue
    different++
    console.log(`FAIL  ${match[1]}: ${expected} here, ${match[2]} in another process. Compare with --trace FILE`)
  }
  if (seen !== hashes.size) {
    console.log(`FAIL  ${hashes.size - seen} runs did not end in the other process`)
    return 1
  }
  if (different === 0) console.log(`ok    ${seen} hashes are the same in another process`)
  return different
}

process.exitCode = await main()

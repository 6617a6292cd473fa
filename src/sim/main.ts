/**
 * npm run sim -- [options]
 *
 * Runs the scenarios of `test/sim`, each with its own number of seeds, on all processors. Exit code 1 when a promise was
 * broken or two runs of one seed differ, 2 when the arguments are wrong.
 *
 * --scenario TEXT      only those whose name contains it
 * --seeds N            how many of each; --first S begins at S, --seed S takes that one alone
 * --mixed              each seed is one run, of a scenario that the seed draws
 * --keep-going         on after a failure, where otherwise the first one ends its scenario, or a mixed campaign
 * --jobs N             processes; 1: this one
 * --twice              the same runs again in processes of another heap, zone and language: equal hashes, or exit code 1
 * --log, --trace FILE  what the nodes log, and every step in a line
 * --with KNOB=VALUE    turns what the scenario would draw, as a failure tells it
 * --shrink RUNS        makes a failure smaller in at most so many runs
 * --speed              how fast the measured scenarios are, by processor time
 * --hashes             `hash SCENARIO SEED HASH` for each run and nothing else
 * --folder DIR         scenarios from elsewhere
 */
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Arguments, readArguments } from './runner/arguments.ts'
import { doAll, runHere, type Worker, WorkerProcess } from './runner/crew.ts'
import { measureSpeed } from './runner/speed.ts'
import { Tally } from './runner/tally.ts'
import { compareWithAnotherProcess } from './runner/twice.ts'

async function main(): Promise<number> {
  if (process.argv.includes('--help')) {
    console.log(usage())
    return 0
  }
  const parsed = await readArguments()
  if (typeof parsed === 'string') {
    console.error(parsed)
    return 2
  }
  if (parsed.speed) return tellSpeed(parsed)
  const tally = new Tally(parsed)
  const workers = workersFor(parsed)
  try {
    await doAll(parsed.runs, workers, {
      isWanted: (run) => tally.isWanted(run),
      onOutcome: (run, outcome) => tally.add(run, outcome),
    })
  } finally {
    for (const worker of workers) worker.end()
  }
  tally.end()
  let { failures } = tally
  if (parsed.twice && failures === 0) {
    failures += await compareWithAnotherProcess(fileURLToPath(import.meta.url), parsed.selection, tally.hashes)
  }
  return failures > 0 ? 1 : 0
}

/** What this file begins with. */
function usage(): string {
  const [, comment] = /^\/\*\*\n([\s\S]*?)\n \*\/$/m.exec(fs.readFileSync(fileURLToPath(import.meta.url), 'utf8')) ?? []
  return (comment ?? '').replaceAll(/^ \* ?/gm, '')
}

function workersFor({ jobs, folder, telling, prepare }: Arguments): Worker[] {
  if (jobs > 1) return Array.from({ length: jobs }, () => new WorkerProcess(folder, telling))
  const options = prepare === null ? { isExplained: false } : { prepare, isExplained: true }
  return [{ run: (run) => runHere(run, telling, options), end() {} }]
}

/** Seeds measured of each scenario where nobody says how many. */
const SPEED_SEEDS = 60

async function tellSpeed({ chosen, seeds }: Arguments): Promise<number> {
  const measured = chosen.filter(({ options }) => options.measured)
  for (const scenario of measured.length > 0 ? measured : chosen) {
    console.log(await measureSpeed(scenario, seeds ?? SPEED_SEEDS))
  }
  return 0
}

process.exitCode = await main()

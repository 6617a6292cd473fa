/**
 * `npm run sim -- [--seeds N] [--first S] [--scenario NAME] [--mixed] [--seed S] [--jobs N] [--keep-going] [--with KNOB=VALUE]…
 * [--shrink RUNS] [--twice] [--trace FILE] [--log] [--folder DIR]`, or `npm run sim -- --speed [--scenario NAME] [--seeds N]`
 *
 * Runs the scenarios of `test/sim`, or of another folder, on all processors. Exit code 1 when a promise was broken or two
 * runs of one seed differ, 2 when the arguments are wrong.
 */
import { fileURLToPath } from 'node:url'
import { type Arguments, readArguments } from './runner/arguments.ts'
import { doAll, runHere, type Worker, WorkerProcess } from './runner/crew.ts'
import { measureSpeed } from './runner/speed.ts'
import { Tally } from './runner/tally.ts'
import { compareWithAnotherProcess } from './runner/twice.ts'

async function main(): Promise<number> {
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

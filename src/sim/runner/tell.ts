import { type RunOptions, runScenario, type Scenario } from '../scenario.ts'
import { shrink } from '../shrink.ts'
import { RunFailure } from '../sim.ts'

const LOG_LINES_SHOWN = 40
const STEPS_SHOWN = 20

export interface Telling {
  readonly knobs: ReadonlyMap<string, string>
  /** How many runs may be spent on making the failure smaller. */
  readonly shrinkRuns: number
}

/** Tells the failure, or a smaller one of its kind, with what the first run left out to be fast. */
export async function explained(
  scenario: Scenario,
  failure: RunFailure,
  { knobs, shrinkRuns }: Telling,
): Promise<string> {
  const { seed } = failure.report
  const given = shrinkRuns === 0 ? knobs : await shrunk(scenario, failure, shrinkRuns)
  const again = await failureOf(scenario, seed, { knobs: given, isExplained: true })
  return textOf(scenario, again ?? failure, given)
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

function textOf({ name }: Scenario, failure: RunFailure, knobs: ReadonlyMap<string, string>): string {
  const { report, recentSteps, logLines, cause } = failure
  const turned = [...knobs].map(([knob, value]) => ` --with '${knob}=${value}'`).join('')
  return [
    `FAIL  ${name}`,
    `${logLines.slice(-LOG_LINES_SHOWN).join('\n')}\n`,
    `the last steps:\n${recentSteps.slice(-STEPS_SHOWN).join('\n')}\n`,
    failure.message,
    ...(cause instanceof Error ? [cause.stack?.split('\n').slice(1).join('\n')] : []),
    `\nhash ${report.hash}. Again:\n  npm run sim -- --scenario '${name}' --seed ${report.seed}${turned}\n`,
  ].join('\n')
}

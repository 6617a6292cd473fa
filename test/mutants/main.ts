/**
 * `npm run mutants [-- --only TEXT] [--seeds N] [--first S]`
 *
 * Takes one rule after the other out of the product and runs the scenario that should notice, seed after seed. Prints how
 * many seeds it took; exit code 1 when one was not found.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { MUTANTS } from './all.ts'
import type { Mutant } from './mutant.ts'
import { scriptOptions } from '../support/script-options.ts'

const HOOK = new URL('./hook.ts', import.meta.url).href
const SIM = fileURLToPath(new URL('../../src/sim/main.ts', import.meta.url))

const { values } = scriptOptions(import.meta.filename, {
  options: {
    only: { type: 'string', default: '' },
    seeds: { type: 'string', default: '1000' },
    first: { type: 'string', default: '1' },
  },
})

interface Hunt {
  /** Null: not found. */
  readonly seeds: number | null
  /** What was noticed. */
  readonly message: string
  readonly seconds: number
}

function hunt(mutant: Mutant): Hunt {
  const startMs = performance.now()
  const selection = ['--scenario', mutant.scenario, '--seeds', values.seeds, '--first', values.first]
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--import', HOOK, SIM, ...selection], {
    encoding: 'utf8',
    env: { ...process.env, MILLRACE_MUTANT: mutant.name },
    maxBuffer: 2 ** 28,
  })
  const seconds = (performance.now() - startMs) / 1000
  if (status === 0) return { seeds: null, message: 'not found', seconds }
  const found = /^seed (\d+), step \d+, \S+ ms: (.*)$/m.exec(stdout)
  if (found === null) throw new Error(`mutant '${mutant.name}':\n${stdout}\n${stderr}`)
  const seeds = Number(found[1]) - Number(values.first) + 1
  const broken = /^broken promises: (.*)$/m.exec(stdout)
  return { seeds, message: broken?.[1] ?? (found[2] as string).slice(0, 80), seconds }
}

let missed = 0
for (const mutant of MUTANTS.filter(({ name }) => name.includes(values.only))) {
  const { seeds, message, seconds } = hunt(mutant)
  if (seeds === null) missed++
  console.log(
    `| ${mutant.name} | ${mutant.scenario} | ${seeds ?? `more than ${values.seeds}`} | ${message} | ${seconds.toFixed(0)} s |`,
  )
}
if (missed > 0) process.exitCode = 1

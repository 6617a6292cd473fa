/**
 * `npm run mutants [-- --only TEXT] [--seeds N] [--first S] [--jobs N]`
 *
 * Takes one rule after the other out of the product and runs the scenario that should notice, seed after seed. Prints how
 * many seeds it took, and what was noticed; exit code 1 when one was not found within its limit (`--seeds`: another limit).
 */
import { MUTANTS } from './all.ts'
import { hunt } from './hunt.ts'
import { scriptOptions } from '../support/script-options.ts'

const { values } = scriptOptions(import.meta.filename, {
  options: {
    only: { type: 'string', default: '' },
    seeds: { type: 'string' },
    first: { type: 'string', default: '1' },
    jobs: { type: 'string' },
  },
})

const chosen = MUTANTS.filter(({ name }) => name.includes(values.only))
if (chosen.length === 0) {
  console.error(
    `no mutant's name contains '${values.only}'. There are:\n${MUTANTS.map(({ name }) => `  ${name}`).join('\n')}`,
  )
  process.exit(2)
}
const limit = {
  ...(values.seeds === undefined ? {} : { seedsMax: Number(values.seeds) }),
  ...(values.jobs === undefined ? {} : { jobs: Number(values.jobs) }),
}
console.log('| rule taken out | scenario | seeds | what was noticed | time |\n| --- | --- | --- | --- | --- |')
let missed = 0
for (const mutant of chosen) {
  const { seeds, seedsMax, message, seconds } = await hunt(mutant, { firstSeed: Number(values.first), ...limit })
  if (seeds === null) missed++
  const told = [mutant.name, mutant.scenario, seeds ?? `more than ${seedsMax}`, message, `${seconds.toFixed(0)} s`]
  console.log(`| ${told.join(' | ')} |`)
}
if (missed > 0) {
  console.log(`${missed} of ${chosen.length} were not found`)
  process.exitCode = 1
}

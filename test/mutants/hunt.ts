import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Mutant, SEEDS_MAX } from './mutant.ts'

const HOOK = new URL('./hook.ts', import.meta.url).href
const SIM = fileURLToPath(new URL('../../src/sim/main.ts', import.meta.url))

export interface Hunt {
  /** How many seeds it took; null: not found. */
  readonly seeds: number | null
  /** How many there were. */
  readonly seedsMax: number
  /** What was noticed. */
  readonly message: string
  readonly seconds: number
}

export interface HuntOptions {
  readonly firstSeed?: number
  /** Default: the mutant's own limit. */
  readonly seedsMax?: number
  /** Processes. Default: as many as there are processors. */
  readonly jobs?: number
}

/**
 * Runs the mutant's scenario with its rule taken out, seed after seed, in a process of its own, until something is noticed.
 * Throws when the simulator itself did not come that far.
 */
export async function hunt(mutant: Mutant, options: HuntOptions = {}): Promise<Hunt> {
  const { firstSeed = 1, seedsMax = mutant.within ?? SEEDS_MAX, jobs } = options
  const startMs = performance.now()
  const selection = ['--scenario', mutant.scenario, '--seeds', `${seedsMax}`, '--first', `${firstSeed}`]
  if (jobs !== undefined) selection.push('--jobs', `${jobs}`)
  const { output, code } = await simulate(mutant, selection)
  const seconds = (performance.now() - startMs) / 1000
  if (code === 0) return { seeds: null, seedsMax, message: 'not found', seconds }
  const found = /^seed (\d+), step \d+, \S+ ms: (.*)$/m.exec(output)
  if (found === null) throw new Error(`mutant '${mutant.name}' could not be looked for:\n${output}`)
  const broken = /^seed .*: broken promises: (.*)$/m.exec(output)
  const message = (broken?.[1] ?? (found[2] as string)).slice(0, MESSAGE_CHARACTERS_MAX)
  return { seeds: Number(found[1]) - firstSeed + 1, seedsMax, message, seconds }
}

const MESSAGE_CHARACTERS_MAX = 100

function simulate(mutant: Mutant, selection: readonly string[]): Promise<{ output: string; code: number | null }> {
  const env = { ...process.env, MILLRACE_MUTANT: mutant.name }
  const child = spawn(process.execPath, ['--import', HOOK, SIM, ...selection], { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ output, code }))
  })
}

import fs from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Scenario, scenarios } from '../scenario.ts'
import type { Sim } from '../sim.ts'
import { loadScenarios } from './load-scenarios.ts'
import { eachScenario, mixed, type Run } from './plan.ts'
import type { Telling } from './tell.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

export interface Arguments {
  readonly chosen: readonly Scenario[]
  readonly runs: readonly Run[]
  readonly telling: Telling
  /** Processes that run them; 1: this one. */
  readonly jobs: number
  readonly folder: string
  readonly mixed: boolean
  readonly twice: boolean
  readonly speed: boolean
  /** How many were asked for. */
  readonly seeds: number | null
  /** Goes on after a failure. */
  readonly keepGoing: boolean
  /** Prints `hash <scenario> <seed> <hash>` for each run and nothing else. */
  readonly hashesOnly: boolean
  /** Looks into each run; only in this process. */
  readonly prepare: ((sim: Sim) => void) | null
  /** To be handed to another process so that it does the same. */
  readonly selection: readonly string[]
}

function parse() {
  return parseArgs({
    options: {
      seeds: { type: 'string' },
      first: { type: 'string', default: '1' },
      seed: { type: 'string' },
      scenario: { type: 'string', default: '' },
      mixed: { type: 'boolean', default: false },
      jobs: { type: 'string' },
      'keep-going': { type: 'boolean', default: false },
      twice: { type: 'boolean', default: false },
      speed: { type: 'boolean', default: false },
      hashes: { type: 'boolean', default: false },
      trace: { type: 'string' },
      log: { type: 'boolean', default: false },
      folder: { type: 'string', default: 'test/sim' },
      with: { type: 'string', multiple: true, default: [] },
      shrink: { type: 'string', default: '0' },
    },
  }).values
}

type Values = ReturnType<typeof parse>

/** What the command line asks for, or what is wrong with it. */
export async function readArguments(): Promise<Arguments | string> {
  const given = parseOptions()
  if (typeof given === 'string') return given
  const { values, numbers } = given
  const folder = path.resolve(ROOT, values.folder)
  await loadScenarios(folder)
  const chosen = scenarios().filter(({ name }) => name.includes(values.scenario))
  if (chosen.length === 0) {
    const names = scenarios().map(({ name }) => `  ${name}`)
    return `no scenario's name contains '${values.scenario}'. There are:\n${names.join('\n')}`
  }
  const range = numbers.seed === null ? { first: numbers.first ?? 1, count: numbers.seeds } : one(numbers.seed)
  const runs = values.mixed ? mixed(chosen, range) : eachScenario(chosen, range)
  const prepare = watcher(values)
  return {
    chosen,
    runs,
    telling: { knobs: new Map(values.with.map(knob)), shrinkRuns: numbers.shrink ?? 0 },
    jobs: prepare !== null ? 1 : Math.min(runs.length, numbers.jobs ?? availableParallelism()),
    folder,
    mixed: values.mixed,
    twice: values.twice,
    speed: values.speed,
    seeds: numbers.seeds,
    keepGoing: values['keep-going'],
    hashesOnly: values.hashes,
    prepare,
    selection: selectionOf(values),
  }
}

const NUMBERS = ['seeds', 'first', 'seed', 'jobs', 'shrink'] as const

function parseOptions(): { values: Values; numbers: Record<(typeof NUMBERS)[number], number | null> } | string {
  let values: Values
  try {
    values = parse()
  } catch (error) {
    return (error as Error).message
  }
  const wrong = NUMBERS.find((name) => values[name] !== undefined && !/^\d+$/.test(values[name]))
  if (wrong !== undefined) return `--${wrong} takes a whole number, not '${values[wrong]}'`
  const numberOf = (text: string | undefined) => (text === undefined ? null : Number(text))
  const numbers = Object.fromEntries(NUMBERS.map((name) => [name, numberOf(values[name])]))
  return { values, numbers: numbers as Record<(typeof NUMBERS)[number], number | null> }
}

function one(seed: number): { first: number; count: number } {
  return { first: seed, count: 1 }
}

function knob(text: string): [string, string] {
  return text.split('=', 2) as [string, string]
}

function watcher({ trace, log }: Values): ((sim: Sim) => void) | null {
  if (trace === undefined && !log) return null
  const file = trace === undefined ? null : fs.createWriteStream(trace)
  return (sim) => {
    if (file !== null) sim.scheduler.onStep = (line) => file.write(`${line}\n`)
    if (log) sim.logs.onLine = (line) => fs.writeSync(2, `${line}\n`)
  }
}

function selectionOf(values: Values): string[] {
  const named = ['seeds', 'first', 'seed', 'scenario', 'folder', 'jobs'] as const
  const texts = named.flatMap((name) => (values[name] === undefined ? [] : [`--${name}`, values[name]]))
  return [...texts, ...(values.mixed ? ['--mixed'] : []), ...values.with.flatMap((text) => ['--with', text])]
}

/** `npm run check`: everything that can be said about the code without running it. Words select steps. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../test/support/files.ts'
import { checkLayers, type Violation } from './layers.ts'
import { checkTidy } from './tidy.ts'

interface Step {
  readonly name: string
  run(): boolean
}

function command(name: string, args: readonly string[]): Step {
  return {
    name,
    run() {
      const [program = '', ...rest] = args
      const { status, stdout, stderr } = spawnSync(program, rest, { cwd: root, encoding: 'utf8' })
      if (status !== 0) process.stdout.write(`${stdout ?? ''}${stderr ?? ''}`)
      return status === 0
    },
  }
}

function rule(name: string, check: () => readonly Violation[]): Step {
  return {
    name,
    run() {
      const violations = check()
      for (const { file, message } of violations) console.log(`  ${file}: ${message}`)
      return violations.length === 0
    },
  }
}

const bin = (name: string) => join(root, 'node_modules', '.bin', name)
const steps: Step[] = [
  command('types', [bin('tsc'), '-p', '.']),
  command('lint', [bin('oxlint'), '--type-aware', '--deny-warnings', '.']),
  rule('layers', checkLayers),
  command('format', [bin('biome'), 'format', '.']),
  rule('tidy', checkTidy),
  command('dashboards', [process.execPath, 'scripts/dashboards.ts', '--check']),
]
// The comparison of our schemas with Kafka's needs Kafka's own message definitions, which are not part of the project.
if (existsSync(join(root, 'scripts', 'check-protocol.ts'))) {
  steps.push(command('protocol', [process.execPath, 'scripts/check-protocol.ts']))
}

const wanted = process.argv.slice(2)
let failed = 0
for (const step of steps.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const start = performance.now()
  const good = step.run()
  if (!good) failed++
  console.log(`${good ? 'ok    ' : 'FAILED'} ${step.name} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
}
if (failed > 0) {
  console.log(`${failed} of the checks failed`)
  process.exitCode = 1
}

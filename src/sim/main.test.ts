import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

function sim(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' })
}

test('every scenario holds on one seed', () => {
  const { status, stdout, stderr } = sim('--seeds', '1')
  assert.equal(status, 0, stdout + stderr)
})

test('runs end the same in a process of another heap, zone and language', () => {
  const { status, stdout, stderr } = sim('--scenario', 'whatever happens', '--seeds', '2', '--twice')
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, /\nok {4}\d+ hashes are the same in another process/)
})

test('runs end the same in one process and in several', () => {
  const args = ['--mixed', '--seeds', '3', '--hashes', '--jobs']
  const [one, several] = [sim(...args, '1'), sim(...args, '3')]
  assert.equal(one.status, 0, one.stdout + one.stderr)
  assert.equal(one.stdout.split('\n').length, 4)
  assert.equal(several.stdout, one.stdout)
})

test('a run that fails prints the command that repeats it, and that fails in the same way', () => {
  const first = sim('--scenario', 'nothing holds', '--seeds', '3', '--folder', 'src/sim/testdata')
  assert.equal(first.status, 1)
  const command = /npm run sim -- --scenario '(.*)' --seed (\d+)/.exec(first.stdout)
  assert.ok(command, first.stdout)
  const again = sim('--scenario', command[1] as string, '--seed', command[2] as string, '--folder', 'src/sim/testdata')
  assert.equal(again.status, 1)
  assert.equal(again.stdout, first.stdout)
  assert.match(again.stdout, /seed 2, step \d+/)
  assert.match(again.stdout, /about to fail/)
})

test('a campaign that goes on after a failure counts them, and one that does not stops at the first', () => {
  const args = ['--seeds', '6', '--folder', 'src/sim/testdata']
  const [stops, goesOn] = [sim(...args), sim(...args, '--keep-going')]
  assert.equal(stops.stdout.match(/^FAIL {2}nothing holds/gm)?.length, 1)
  assert.equal(goesOn.stdout.match(/^FAIL {2}nothing holds/gm)?.length, 3)
  assert.match(goesOn.stdout, /6 runs, 3 failures/)
  assert.deepEqual([stops.status, goesOn.status], [1, 1])
})

test('options are told, and those that mean nothing are named', () => {
  assert.match(sim('--help').stdout, /^npm run sim -- \[options\][^]*--mixed /)
  assert.match(sim('--seeds', 'many').stderr, /--seeds takes a whole number, not 'many'/)
  assert.match(sim('--sedes', '3').stderr, /Unknown option '--sedes'/)
})

test('a name that no scenario has is told with those there are', () => {
  const { status, stderr } = sim('--scenario', 'no such thing')
  assert.equal(status, 2)
  assert.match(stderr, /no scenario's name contains 'no such thing'. There are:\n {2}\S/)
})

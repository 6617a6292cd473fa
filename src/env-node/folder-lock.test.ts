import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { test } from 'node:test'
import v8 from 'node:v8'
import vm from 'node:vm'
import { withTempDir } from '../testing/temp-dir.ts'
import { takeLock } from './folder-lock.ts'

const TAKER = `
const { takeLock } = await import(${JSON.stringify(new URL('./folder-lock.ts', import.meta.url).href)})
const lock = takeLock(process.argv[1])
process.stdout.write(lock ? 'locked' : 'refused')
if (lock) setInterval(() => {}, 1000)
`

/** Starts a process that tries to take the lock and then keeps it; resolves with its answer. */
async function taker(file: string): Promise<{ child: ChildProcess; answer: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', TAKER, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [chunk] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  return { child, answer: chunk.toString() }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

test('of processes that race for the lock exactly one wins, and kill -9 sets it free', async () => {
  await withTempDir(async (dir) => {
    const file = `${dir}/.lock`
    const racers = await Promise.all(Array.from({ length: 5 }, () => taker(file)))
    try {
      const winners = racers.filter(({ answer }) => answer === 'locked')
      assert.equal(winners.length, 1)
      assert.equal(takeLock(file), null)
      await kill(winners[0]?.child as ChildProcess)
      const lock = takeLock(file)
      assert.ok(lock)
      const late = await taker(file)
      racers.push(late)
      assert.equal(late.answer, 'refused')
      await lock.unlock()
      assert.deepEqual(fs.readdirSync(dir), ['.lock'])
      assert.equal(fs.statSync(file).size, 0)
    } finally {
      await Promise.all(racers.map(({ child }) => kill(child)))
    }
  })
})

test('the lock outlives a garbage collection of its holder', async () => {
  v8.setFlagsFromString('--expose-gc')
  const collect = vm.runInNewContext('gc') as () => void
  await withTempDir(async (dir) => {
    takeLock(`${dir}/.lock`)
    collect()
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    assert.equal(takeLock(`${dir}/.lock`), null)
  })
})

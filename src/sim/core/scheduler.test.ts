import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import type { Actor } from './actor.ts'
import { replaceGlobals } from './globals.ts'
import { Scheduler, StuckError } from './scheduler.ts'

let actors = 0
function actor(): Actor {
  return { id: ++actors, name: `a${actors}`, alive: true, pausedUntilMs: 0 }
}

function scheduler(seed: number | null = null, stepsMax = 1e6): Scheduler {
  return new Scheduler({ random: seed === null ? null : new Random(seed), draws: () => 0, stepsMax })
}

test('all that an event set off has run before the next event, however long the chain', async () => {
  const events = scheduler()
  const me = actor()
  const order: string[] = []
  const chain = async (name: string, length: number) => {
    for (let i = 0; i < length; i++) await Promise.resolve()
    order.push(`${name} settled`)
  }
  for (const name of ['one', 'two', 'three']) {
    events.schedule(me, 1, 'test', 0, () => {
      order.push(name)
      void chain(name, 5000)
    })
  }
  await events.run(() => order.length === 6)
  assert.deepEqual(order, ['one', 'one settled', 'two', 'two settled', 'three', 'three settled'])
})

test('time jumps to the next event, and the seed decides the order of what is due together', async () => {
  const orders = new Set<string>()
  for (let seed = 0; seed < 30; seed++) {
    const events = scheduler(seed)
    const order: number[] = []
    for (const i of [0, 1, 2]) events.schedule(actor(), 1000, 'test', 0, () => order.push(i))
    await events.run(() => order.length === 3)
    assert.ok(Math.abs(events.nowMs - 1000) < 0.01)
    orders.add(order.join())
  }
  assert.equal(orders.size, 6)
})

test('nothing of a dead actor runs, and a paused one catches up in order', async () => {
  const events = scheduler()
  const [dead, paused, other] = [actor(), actor(), actor()]
  const seen: string[] = []
  events.schedule(dead, 5, 'test', 0, () => seen.push('dead'))
  events.schedule(paused, 5, 'test', 0, () => seen.push('paused 1'))
  events.schedule(paused, 6, 'test', 0, () => seen.push('paused 2'))
  events.schedule(other, 20, 'test', 0, () => seen.push('other'))
  events.schedule(other, 5, 'test', 0, () => seen.push('cancelled')).cancel()
  dead.alive = false
  paused.pausedUntilMs = 50
  await events.run(() => seen.length === 3)
  assert.deepEqual(seen, ['other', 'paused 1', 'paused 2'])
  assert.equal(events.nowMs, 50)
})

test('a run with nothing left to happen, or without an end, is stopped', async () => {
  await assert.rejects(
    scheduler().run(() => false),
    StuckError,
  )
  const endless = scheduler(null, 100)
  const again = () => {
    endless.schedule(actor(), 1, 'test', 0, again)
  }
  again()
  await assert.rejects(
    endless.run(() => false),
    StuckError,
  )
})

test('an invariant is checked after every step, with everything settled', async () => {
  const events = scheduler()
  const me = actor()
  let value = 0
  events.addInvariant(() => assert.ok(value < 3, `the value is ${value}`))
  const add = () => {
    void Promise.resolve().then(() => value++)
    events.schedule(me, 1, 'test', 0, add)
  }
  add()
  await assert.rejects(
    events.run(() => false),
    /the value is 3/,
  )
  assert.equal(events.step, 2)
})

test('what an event throws ends the run', async () => {
  const events = scheduler()
  events.schedule(actor(), 1, 'test', 0, () => {
    throw new Error('broken')
  })
  await assert.rejects(
    events.run(() => false),
    /broken/,
  )
})

test('the hash tells runs apart by time, actor, kind, payload and seed, and by nothing else', async () => {
  const me = actor()
  const other = actor()
  const run = async (options: { seed?: number; delayMs?: number; who?: Actor; kind?: string; digest?: number }) => {
    const events = scheduler(options.seed ?? 1)
    let done = false
    events.schedule(options.who ?? me, options.delayMs ?? 1, options.kind ?? 'test', options.digest ?? 0, () => {
      done = true
    })
    await events.run(() => done)
    return events.trace.hash
  }
  const all = [
    await run({}),
    await run({ seed: 2 }),
    await run({ delayMs: 1.000001 }),
    await run({ who: other }),
    await run({ kind: 'tess' }),
    await run({ digest: 1 }),
  ]
  assert.equal(new Set(all).size, all.length)
  assert.equal(await run({}), all[0])
})

test('while the globals are replaced nothing reads the real clock or real randomness', () => {
  const restore = replaceGlobals()
  try {
    assert.throws(() => Date.now(), /Env/)
    assert.throws(() => new Date(), /Env/)
    assert.throws(() => performance.now(), /Env/)
    assert.throws(() => Math.random(), /Env/)
    assert.throws(() => setTimeout(() => {}, 1), /Env/)
    assert.throws(() => setImmediate(() => {}), /Env/)
    assert.throws(() => crypto.randomUUID(), /Env/)
    assert.throws(() => process.hrtime.bigint(), /Env/)
    assert.equal(new Date(0).toISOString(), '1970-01-01T00:00:00.000Z')
    assert.ok(new Date(0) instanceof Date)
    assert.throws(() => replaceGlobals(), /two simulations/)
  } finally {
    restore()
  }
  assert.ok(Date.now() > 0 && performance.now() > 0 && Math.random() >= 0)
  assert.equal(typeof crypto.randomUUID(), 'string')
})

import { assert } from '../../base/assert.ts'

type Mutable = Record<string, unknown>

const REASON = 'inside a simulation time, timers and randomness come from Env'

let replaced = false

/**
 * For the length of a run, everything that reads the real clock, sets a real timer or draws real randomness throws: a run
 * that depends on such a thing could not be repeated. Returns what puts the globals back.
 */
export function replaceGlobals(): () => void {
  assert(!replaced, 'two simulations at once in one process')
  replaced = true
  const scope = globalThis as unknown as Mutable
  const undo: (() => void)[] = []
  const replace = (owner: object, name: string, value: unknown) => {
    const before = Object.getOwnPropertyDescriptor(owner, name)
    Object.defineProperty(owner, name, { value, configurable: true, writable: true })
    undo.push(() => {
      if (before) Object.defineProperty(owner, name, before)
      else delete (owner as Mutable)[name]
    })
  }
  for (const name of ['setTimeout', 'setInterval', 'setImmediate']) replace(scope, name, thrower(name))
  replace(performance, 'now', thrower('performance.now'))
  replace(Math, 'random', thrower('Math.random'))
  replace(process, 'hrtime', Object.assign(thrower('process.hrtime'), { bigint: thrower('process.hrtime.bigint') }))
  for (const name of ['randomUUID', 'getRandomValues']) replace(crypto, name, thrower(`crypto.${name}`))
  replace(scope, 'Date', dateWithoutNow())
  return () => {
    for (const restore of undo.reverse()) restore()
    replaced = false
  }
}

function thrower(name: string): () => never {
  return () => {
    throw new Error(`${name}: ${REASON}`)
  }
}

/** Dates of given times stay allowed: they are calendar arithmetic. */
function dateWithoutNow(): DateConstructor {
  const RealDate = Date
  return new Proxy(RealDate, {
    construct(target, values, newTarget) {
      if (values.length === 0) thrower('new Date()')()
      return Reflect.construct(target, values, newTarget) as object
    },
    apply: thrower('Date()'),
    get(target, name, receiver) {
      return name === 'now' ? thrower('Date.now') : Reflect.get(target, name, receiver)
    },
  })
}

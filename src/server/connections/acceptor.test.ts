import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address, Connection, ConnectionHandler, Net } from '../../env/net.ts'
import { LineLog, ManualEnv } from '../../testing/manual-env.ts'
import { Acceptor } from './acceptor.ts'
import { type ConnectionLimits, DEFAULT_LIMITS } from './limits.ts'

/** A client's end, as far as accepting goes. */
class Caller implements Connection {
  readonly local = { host: '127.0.0.1', port: 9092 }
  readonly remote: Address
  readonly unsentBytes = 0
  handler: ConnectionHandler | null = null
  isDestroyed = false
  hasEnded = false

  constructor(host: string) {
    this.remote = { host, port: 50_000 }
  }

  start(handler: ConnectionHandler) {
    this.handler = handler
  }

  pause() {}
  resume() {}

  write() {
    return true
  }

  end() {
    this.hasEnded = true
  }

  destroy() {
    this.isDestroyed = true
    this.handler?.closed(null)
  }
}

async function acceptorOf(limits: Partial<ConnectionLimits> = {}) {
  const log = new LineLog()
  const manual = new ManualEnv({ log })
  let accept: (connection: Connection) => void = () => {}
  const net: Net = {
    listen: async (address, onConnection) => {
      accept = onConnection
      return { address: { ...address, port: 4242 }, close: async () => {} }
    },
    connect: () => Promise.reject(new Error('nobody connects here')),
  }
  const acceptor = new Acceptor({
    env: { ...manual.env, net },
    limits: { ...DEFAULT_LIMITS, ...limits },
    dispatch: () => null,
    serves: () => true,
    endpointOf: () => null,
  })
  const bound = await acceptor.listen('PLAINTEXT', { host: '127.0.0.1', port: 0 })
  const call = (host = '10.0.0.1') => {
    const caller = new Caller(host)
    accept(caller)
    return caller
  }
  return { acceptor, manual, log, bound, call }
}

test('before the gate opens connections are accepted and not read', async () => {
  const { acceptor, bound, call } = await acceptorOf()
  assert.equal(bound.port, 4242)
  const early = call()
  assert.equal(early.handler, null)
  acceptor.open()
  assert.notEqual(early.handler, null)
  assert.notEqual(call().handler, null)
  assert.equal(acceptor.counts.accepted, 2)
})

test('too many, too many from one address, too fast: each is refused by the name of its limit', async () => {
  const many = await acceptorOf({ connectionsMax: 2 })
  many.acceptor.open()
  const [first, , third] = [many.call(), many.call(), many.call()]
  assert.deepEqual([first?.isDestroyed, third?.isDestroyed], [false, true])
  assert.match(many.log.lines.join(), /max.connections is 2/)
  first?.destroy()
  assert.equal(many.call().isDestroyed, false)

  const perIp = await acceptorOf({ connectionsPerIpMax: 1, connectionsPerIpOverrides: new Map([['10.0.0.2', 2]]) })
  perIp.acceptor.open()
  const refused = ['10.0.0.1', '10.0.0.1', '10.0.0.2', '10.0.0.2', '10.0.0.2'].map(
    (host) => perIp.call(host).isDestroyed,
  )
  assert.deepEqual(refused, [false, true, false, false, true])
  assert.match(perIp.log.lines.join(), /max.connections.per.ip is 1.*max.connections.per.ip is 2/s)

  const rate = await acceptorOf({ connectionsPerSecondMax: 1 })
  rate.acceptor.open()
  assert.deepEqual([rate.call().isDestroyed, rate.call().isDestroyed], [false, true])
  await rate.manual.advance(1000)
  assert.equal(rate.call().isDestroyed, false)
  assert.equal(rate.acceptor.counts.refusedAtAccept, 1)
})

test('a connection that says nothing is closed with its reason; without connections no timer runs', async () => {
  const { acceptor, manual, log, call } = await acceptorOf({ firstRequestDeadlineMs: 20_000 })
  acceptor.open()
  assert.equal(manual.armed, 0)
  const silent = call()
  await manual.advance(19_000)
  assert.equal(silent.isDestroyed, false)
  await manual.advance(6_000)
  assert.equal(silent.isDestroyed, true)
  assert.match(log.lines.at(-1) ?? '', /no valid request within 20000 ms/)
  assert.equal(acceptor.connections.size, 0)
  await manual.advance(10_000)
  assert.equal(manual.armed, 0)
})

test('a crowd of bad clients does not fill the disk with log lines, and is counted', async () => {
  const { acceptor, manual, log, call } = await acceptorOf({ connectionsMax: 0 })
  acceptor.open()
  for (let i = 0; i < 500; i++) call()
  assert.ok(log.lines.length <= 50)
  assert.equal(acceptor.counts.refusedAtAccept, 500)
  await manual.advance(10_000)
  call()
  assert.match(log.lines.join('\n'), /notLogged=450/)
})

test('a node that stops ends its connections and accepts no more', async () => {
  const { acceptor, call } = await acceptorOf()
  acceptor.open()
  const open = call()
  await acceptor.stopListening()
  acceptor.endAll()
  assert.ok(open.hasEnded)
  assert.ok(call().isDestroyed)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection, ConnectionHandler, NetError } from '../../env/net.ts'
import type { Machine, Process } from '../machine.ts'
import { type Sim, simulate } from '../sim.ts'
import { STEADY_NET } from './sim-net.ts'

const PORT = 9092

/** Keeps what it hears. */
class Ear implements ConnectionHandler {
  readonly connection: Connection
  text = ''
  bytes = 0
  #end: { error: NetError | null } | null = null

  constructor(connection: Connection) {
    this.connection = connection
    connection.start(this)
  }

  data(chunk: Buffer): void {
    this.bytes += chunk.length
    if (this.text.length < 10_000) this.text += chunk.toString('latin1')
  }

  drained(): void {}

  closed(error: NetError | null): void {
    this.#end = { error }
  }

  isOpen(): boolean {
    return this.#end === null
  }

  /** Of the error it ended with. */
  code(): string | undefined {
    return this.#end?.error?.code
  }
}

interface Two {
  sim: Sim
  client: Machine
  server: Machine
  clientProcess: Process
  serverProcess: Process
  /** In the order they were accepted. */
  accepted: Ear[]
  connect(): Promise<Ear>
}

async function withTwo(
  options: { seed?: number; resetChance?: number },
  body: (two: Two) => Promise<void>,
): Promise<void> {
  const net = { ...STEADY_NET, resetChance: options.resetChance ?? 0 }
  await simulate({ seed: options.seed ?? 1, net }, async (sim) => {
    const [client, server] = [sim.addMachine('client'), sim.addMachine('server')]
    const [clientProcess, serverProcess] = [client.boot(), server.boot()]
    const accepted: Ear[] = []
    await serverProcess.env.net.listen({ host: '0.0.0.0', port: PORT }, (c) => accepted.push(new Ear(c)))
    const connect = async () => new Ear(await clientProcess.env.net.connect({ host: 'server', port: PORT }))
    await body({ sim, client, server, clientProcess, serverProcess, accepted, connect })
  })
}

test('a link that two troubles have cut works again when both are over', async () => {
  await withTwo({}, async ({ sim, client, server, connect, accepted }) => {
    const ear = await connect()
    const one = sim.net.isolate(client.host)
    const other = sim.net.cutLink(client.host, server.host)
    ear.connection.write([Buffer.from('late')])
    one.heal()
    one.heal()
    await sim.runFor(10_000)
    assert.equal(accepted[0]?.text, '')
    other.heal()
    await sim.runFor(1000)
    assert.equal(accepted[0]?.text, 'late')
  })
})

test('what is sent over a cut link arrives, in order, once it is healed', async () => {
  await withTwo({}, async ({ sim, client, connect, accepted }) => {
    const ear = await connect()
    sim.net.isolate(client.host)
    for (const word of ['one ', 'two ', 'three']) ear.connection.write([Buffer.from(word)])
    await sim.runFor(60_000)
    assert.equal(accepted[0]?.text, '')
    sim.net.heal()
    await sim.runFor(1000)
    assert.equal(accepted[0]?.text, 'one two three')
    assert.ok(ear.isOpen())
  })
})

test('a link cut one way carries data the other way until the sender wants to know it arrived', async () => {
  await withTwo({}, async ({ sim, client, server, connect, accepted }) => {
    const ear = await connect()
    sim.net.cutLink(server.host, client.host)
    const block = Buffer.alloc(100_000)
    for (let i = 0; i < 20; i++) ear.connection.write([block])
    await sim.runFor(5000)
    const arrived = accepted[0]?.bytes ?? 0
    assert.ok(arrived > 0 && arrived < 2_000_000, `${arrived}`)
    assert.equal(ear.connection.unsentBytes, 2_000_000 - arrived)
    sim.net.heal()
    await sim.runFor(5000)
    assert.equal(accepted[0]?.bytes, 2_000_000)
  })
})

test('a connection over a cut link waits for the link, or for its time to be over', async () => {
  await withTwo({}, async ({ sim, client, connect }) => {
    sim.net.isolate(client.host)
    const startMs = sim.nowMs
    await assert.rejects(connect(), { code: 'ETIMEDOUT' })
    assert.ok(Math.abs(sim.nowMs - startMs - 10_000) < 1)
    const attempt = connect()
    await sim.runFor(500)
    sim.net.heal()
    await attempt
  })
})

test('a name nobody has, and a port nobody listens on', async () => {
  await withTwo({}, async ({ clientProcess }) => {
    const { net } = clientProcess.env
    await assert.rejects(net.connect({ host: 'nobody', port: PORT }), { code: 'ENOTFOUND' })
    await assert.rejects(net.connect({ host: 'server', port: PORT + 1 }), { code: 'ECONNREFUSED' })
    await assert.rejects(
      net.listen({ host: 'server', port: 1 }, () => {}),
      { code: 'EADDRNOTAVAIL' },
    )
  })
})

test('the other side hears of a killed process at once, and its port is refused', async () => {
  await withTwo({}, async ({ sim, server, serverProcess, connect }) => {
    const ear = await connect()
    server.kill(serverProcess)
    await sim.runFor(100)
    assert.ok(!ear.isOpen())
    await assert.rejects(connect(), { code: 'ECONNREFUSED' })
  })
})

test('a machine without power says nothing: its peer learns of it when it is up again, or never answers', async () => {
  await withTwo({}, async ({ sim, server, connect }) => {
    const [waiting, idle, patient] = [await connect(), await connect(), await connect()]
    server.losePower('all')
    waiting.connection.write([Buffer.from('are you there?')])
    await sim.runFor(30_000)
    assert.ok(waiting.isOpen() && idle.isOpen())
    await assert.rejects(connect(), { code: 'ETIMEDOUT' })
    server.boot()
    await sim.runFor(5000)
    assert.equal(waiting.code(), 'ECONNRESET')
    assert.ok(idle.isOpen())
    idle.connection.write([Buffer.from('hello?')])
    await sim.runFor(100)
    assert.equal(idle.code(), 'ECONNRESET')
    await sim.runFor(100_000)
    assert.equal(patient.code(), 'ECONNRESET')
  })
  await withTwo({}, async ({ sim, server, connect }) => {
    const ear = await connect()
    server.losePower('all')
    await sim.runFor(800_000)
    assert.equal(ear.code(), 'ETIMEDOUT')
  })
})

test('bytes of a connection its owner gave up may arrive after those of its successor', async () => {
  let overtaken = 0
  for (let seed = 1; seed <= 40; seed++) {
    await withTwo({ seed }, async ({ sim, client, server, connect, accepted }) => {
      sim.net.profile = { ...STEADY_NET, tailChance: 0.4 }
      const order: string[] = []
      const old = await connect()
      const next = await connect()
      for (const ear of accepted) {
        ear.data = (chunk) => {
          order.push(chunk.toString())
        }
      }
      sim.net.cutLink(client.host, server.host)
      old.connection.write([Buffer.from('old')])
      old.connection.destroy()
      next.connection.write([Buffer.from('new')])
      sim.net.heal()
      await sim.runFor(10_000)
      if (order.join('').startsWith('new') && order.join('').includes('old')) overtaken++
    })
  }
  assert.ok(overtaken > 0)
})

test('a reset destroys what was under way, and both sides hear of it', async () => {
  await withTwo({}, async ({ sim, client, server, connect, accepted }) => {
    const ear = await connect()
    ear.connection.write([Buffer.from('lost')])
    sim.net.resetConnections(client.host, server.host)
    await sim.runFor(100)
    assert.equal(ear.code(), 'ECONNRESET')
    assert.equal(accepted[0]?.code(), 'ECONNRESET')
    assert.equal(accepted[0]?.text, '')
  })
  await withTwo({ resetChance: 1 }, async ({ sim, connect, accepted }) => {
    const ear = await connect()
    ear.connection.write([Buffer.from('lost')])
    ear.connection.destroy()
    await sim.runFor(100)
    assert.equal(accepted[0]?.code(), 'ECONNRESET')
    assert.equal(accepted[0]?.text, '')
  })
})

test('a chunk is gone after the call it was delivered in', async () => {
  await withTwo({}, async ({ sim, connect, accepted }) => {
    const ear = await connect()
    const kept: Buffer[] = []
    await sim.runFor(10)
    ;(accepted[0] as Ear).data = (chunk) => {
      kept.push(chunk)
    }
    ear.connection.write([Buffer.from('keep me')])
    await sim.runFor(10)
    assert.ok(Buffer.concat(kept).every((byte) => byte === 0xdd))
  })
})

test('a buffer changed before it was sent fails the run', async () => {
  await assert.rejects(
    withTwo({}, async ({ sim, connect }) => {
      const ear = await connect()
      const buffer = Buffer.alloc(1 << 20)
      ear.connection.write([buffer])
      assert.ok(ear.connection.unsentBytes > 0)
      buffer.fill(1)
      await sim.runFor(1000)
    }),
    /a buffer was changed/,
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import type { Env } from '../../env/env.ts'
import { type Address, type Connection, type ConnectionHandler, type Listener, NetError } from '../../env/net.ts'
import type { TestWorld } from './world.ts'

/** What every `Net` does while nothing but the peer fails. */
export function netContract(world: TestWorld): void {
  const { host } = world
  const check = (name: string, body: (env: Env, other: Env) => Promise<void>) => {
    test(`${world.name} net: ${name}`, () => world.run((env, _dir, other) => body(env, other)))
  }

  check('bytes go both ways, and both sides agree on the addresses', async (env, other) => {
    const { client, server, listener } = await pair(env, other)
    assert.notEqual(listener.address.port, 0)
    assert.deepEqual(client.connection.remote, listener.address)
    assert.deepEqual(server.connection.local, listener.address)
    assert.deepEqual(client.connection.local, server.connection.remote)
    client.connection.write([Buffer.from('hel'), Buffer.from('lo')])
    await server.until(() => server.text === 'hello')
    server.connection.write([Buffer.from('good day')])
    await client.until(() => client.text === 'good day')
    await close(client, server, listener)
  })

  check('many writes of all sizes arrive whole and in order, both ways at once', async (env, other) => {
    const { client, server, listener } = await pair(env, other)
    const [there, back] = [stream(1), stream(2)]
    await Promise.all([send(client, there), send(server, back)])
    await Promise.all([
      server.until(() => server.bytes === size(there)),
      client.until(() => client.bytes === size(back)),
    ])
    assert.ok(server.all.equals(Buffer.concat(there)))
    assert.ok(client.all.equals(Buffer.concat(back)))
    await close(client, server, listener)
  })

  check('what was sent before the handler was set is not lost', async (env, other) => {
    const accepted: Connection[] = []
    let arrived = () => {}
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const listener = await env.net.listen({ host, port: 0 }, (connection) => {
      accepted.push(connection)
      arrived()
    })
    const client = new Peer(await other.net.connect(listener.address))
    client.connection.write([Buffer.from('early')])
    await arrival
    await new Promise<void>((resolve) => env.timers.after(20, resolve))
    const server = new Peer(accepted[0] as Connection)
    await server.until(() => server.text === 'early')
    await close(client, server, listener)
  })

  check('a paused connection gets no data, slows the sender, and goes on where it stopped', async (env, other) => {
    const { client, server, listener } = await pair(env, other)
    server.connection.pause()
    const block = Buffer.alloc(1 << 20, 7)
    let sent = 0
    while (client.connection.write([block])) {
      sent += block.length
      assert.ok(sent < 1 << 30, 'a sender whose peer reads nothing was never held back')
      await new Promise<void>((resolve) => env.timers.after(1, resolve))
    }
    sent += block.length
    assert.ok(client.connection.unsentBytes > 0)
    assert.equal(client.drains, 0)
    const before = server.bytes
    await new Promise<void>((resolve) => env.timers.after(20, resolve))
    assert.equal(server.bytes, before)
    server.connection.resume()
    await Promise.all([server.until(() => server.bytes === sent), client.until(() => client.drains === 1)])
    assert.equal(client.connection.unsentBytes, 0)
    await close(client, server, listener)
  })

  check('pausing from within data holds the rest back', async (env, other) => {
    const { client, server, listener } = await pair(env, other)
    let chunks = 0
    server.onData = () => {
      chunks++
      server.connection.pause()
      env.timers.after(1, () => server.connection.resume())
    }
    const blocks = Array.from({ length: 20 }, (_, i) => Buffer.alloc(100_000, i))
    await send(client, blocks)
    await server.until(() => server.bytes === 2_000_000)
    assert.ok(server.all.equals(Buffer.concat(blocks)))
    assert.ok(chunks > 1)
    await close(client, server, listener)
  })

  check('end sends what was written before it', async (env, other) => {
    const { client, server, listener } = await pair(env, other)
    const blocks = Array.from({ length: 30 }, (_, i) => Buffer.alloc(100_000, i))
    for (const block of blocks) client.connection.write([block])
    client.connection.end()
    await Promise.all([client.until(() => client.gone), server.until(() => server.gone)])
    assert.ok(server.all.equals(Buffer.concat(blocks)))
    assert.deepEqual([client.error, server.error], [null, null])
    await listener.close()
  })

  check('an answer written before end arrives although the request was not read to its end', async (env, other) => {
    const { client, server, listener } = await pair(env, other)
    server.onData = () => {
      server.onData = () => assert.fail('data after end')
      server.connection.write([Buffer.from('too large')])
      server.connection.end()
    }
    client.connection.write([Buffer.alloc(3 << 20)])
    await Promise.all([client.until(() => client.gone), server.until(() => server.gone)])
    assert.equal(client.text, 'too large')
    await listener.close()
  })

  check('destroy closes both sides', async (env, other) => {
    const { client, server, listener } = await pair(env, other)
    client.connection.write([Buffer.from('x')])
    await server.until(() => server.bytes === 1)
    server.connection.destroy()
    assert.equal(server.gone, false, 'the handler was called from within destroy')
    await Promise.all([client.until(() => client.gone), server.until(() => server.gone)])
    await listener.close()
  })

  check('after the close writes are dropped, and everything may be called', async (env, other) => {
    const { client, server, listener } = await pair(env, other)
    server.connection.end()
    await Promise.all([client.until(() => client.gone), server.until(() => server.gone)])
    for (const { connection } of [client, server]) {
      assert.equal(connection.write([Buffer.from('late'), Buffer.from('r')]), true)
      assert.equal(connection.unsentBytes, 0)
      connection.pause()
      connection.resume()
      connection.end()
      connection.destroy()
    }
    assert.deepEqual(client.connection.remote, listener.address)
    await new Promise<void>((resolve) => env.timers.after(20, resolve))
    assert.deepEqual([client.closes, server.closes], [1, 1])
    await listener.close()
  })

  check('a writer hears when its buffers have left, and may change them then', async (env, other) => {
    const { client, server, listener } = await pair(env, other)
    server.connection.pause()
    const blocks = Array.from({ length: 60 }, (_, i) => Buffer.alloc(1 + ((i * 40_009) % 200_000), i))
    const expected = Buffer.concat(blocks)
    let sent = 0
    let isWriting = true
    for (let i = 0; i < blocks.length; i += 2) {
      const together = blocks.slice(i, i + 2)
      client.connection.write(together, () => {
        assert.equal(isWriting, false, 'called from within a call of the owner')
        sent++
        for (const block of together) block.fill(0xdb)
      })
    }
    isWriting = false
    await new Promise<void>((resolve) => env.timers.after(20, resolve))
    assert.ok(sent < 30, 'all was sent to a peer that reads nothing')
    server.connection.resume()
    await Promise.all([server.until(() => server.bytes === expected.length), client.until(() => client.drains > 0)])
    await new Promise<void>((resolve) => env.timers.after(20, resolve))
    assert.equal(sent, 30)
    assert.ok(server.all.equals(expected))
    client.connection.write([Buffer.from('dropped')], () => sent++)
    client.connection.destroy()
    client.connection.write([Buffer.from('dropped too')], () => assert.fail('sent after the end'))
    await server.until(() => server.gone)
    await listener.close()
  })

  check('refused, in use, closed', async (env, other) => {
    const listener = await env.net.listen({ host, port: 0 }, (connection) => new Peer(connection))
    await rejects(
      env.net.listen(listener.address, () => {}),
      'EADDRINUSE',
    )
    const client = new Peer(await other.net.connect(listener.address))
    await listener.close()
    await listener.close()
    await rejects(other.net.connect(listener.address, { timeoutMs: 5000 }), 'ECONNREFUSED')
    assert.equal(client.gone, false)
    client.connection.destroy()
    await client.until(() => client.gone)
    const again = await env.net.listen(listener.address, (connection) => new Peer(connection))
    assert.deepEqual(again.address, listener.address)
    await again.close()
  })

  async function pair(env: Env, other: Env): Promise<{ client: Peer; server: Peer; listener: Listener }> {
    let accept = (_peer: Peer) => {}
    const accepted = new Promise<Peer>((resolve) => {
      accept = resolve
    })
    const listener = await env.net.listen({ host, port: 0 }, (connection) => accept(new Peer(connection)))
    const client = new Peer(await other.net.connect(listener.address as Address))
    return { client, server: await accepted, listener }
  }
}

/** Keeps what a connection delivers and lets a test wait for it. */
class Peer implements ConnectionHandler {
  readonly connection: Connection
  readonly #chunks: Buffer[] = []
  bytes = 0
  drains = 0
  closes = 0
  error: NetError | null = null
  onData = () => {}
  #waiting: { condition: () => boolean; resolve: () => void }[] = []

  constructor(connection: Connection) {
    this.connection = connection
    connection.start(this)
  }

  get all(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  get text(): string {
    return this.all.toString()
  }

  get gone(): boolean {
    return this.closes > 0
  }

  data(chunk: Buffer): void {
    assert.ok(chunk.length > 0)
    this.#chunks.push(Buffer.from(chunk))
    this.bytes += chunk.length
    this.onData()
    this.#wake()
  }

  drained(): void {
    this.drains++
    this.#wake()
  }

  closed(error: NetError | null): void {
    this.closes++
    this.error = error
    this.#wake()
  }

  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ condition, resolve })
      this.#wake()
    })
  }

  #wake(): void {
    const ready = this.#waiting.filter(({ condition }) => condition())
    this.#waiting = this.#waiting.filter((waiter) => !ready.includes(waiter))
    for (const { resolve } of ready) resolve()
  }
}

/** Blocks of 1 byte to 200 KB, about 8 MB of them, in which every byte depends on its place. */
function stream(seed: number): Buffer[] {
  const random = new Random(seed)
  return Array.from({ length: 80 }, () => {
    const block = Buffer.alloc(random.chance(0.5) ? 1 + random.below(200) : 1 + random.below(200_000))
    for (let i = 0; i < block.length; i++) block[i] = (i * 31 + seed * 7 + (i >> 8)) & 0xff
    return block
  })
}

function size(blocks: readonly Buffer[]): number {
  return blocks.reduce((sum, block) => sum + block.length, 0)
}

/** Writes the blocks, several at a time, and waits whenever it is told to. */
async function send(peer: Peer, blocks: readonly Buffer[]): Promise<void> {
  for (let i = 0; i < blocks.length; i += 3) {
    const drains = peer.drains
    if (!peer.connection.write(blocks.slice(i, i + 3))) await peer.until(() => peer.drains > drains)
  }
}

async function close(client: Peer, server: Peer, listener: Listener): Promise<void> {
  client.connection.end()
  await Promise.all([client.until(() => client.gone), server.until(() => server.gone)])
  assert.deepEqual([client.closes, server.closes], [1, 1])
  await listener.close()
}

async function rejects(promise: Promise<unknown>, code: string): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof NetError, `${error} is no NetError`)
    assert.equal(error.code, code)
    return true
  })
}

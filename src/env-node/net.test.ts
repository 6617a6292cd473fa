import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { test } from 'node:test'
import { silentLogger } from '../env/logger.ts'
import type { Connection, NetError } from '../env/net.ts'
import { nodeNet } from './net.ts'

const { listen, connect } = nodeNet(silentLogger)
const LOCAL = { host: '127.0.0.1', port: 0 }

function handler(connection: Connection, onClosed: (error: NetError | null) => void) {
  return {
    data: (chunk: Buffer) => {
      connection.write([Buffer.from(chunk)])
    },
    drained: () => {},
    closed: onClosed,
  }
}

test('no descriptor stays behind after connections ended in every way', {
  skip: !fs.existsSync('/proc/self/fd'),
}, async () => {
  let open = 0
  let allClosed = () => {}
  const listener = await listen(LOCAL, (connection) => {
    open++
    connection.start(
      handler(connection, () => {
        if (--open === 0) allClosed()
      }),
    )
  })
  const descriptors = () => fs.readdirSync('/proc/self/fd').length
  const before = descriptors()
  const clients = await Promise.all(Array.from({ length: 60 }, () => connect(listener.address)))
  const closings = clients.map((client, i) => {
    const closing = new Promise<void>((resolve) => client.start(handler(client, () => resolve())))
    if (i % 3 === 0) client.write([Buffer.from('ping')])
    if (i % 2 === 0) client.end()
    else client.destroy()
    return closing
  })
  const serverClosings = new Promise<void>((resolve) => {
    allClosed = resolve
  })
  await Promise.all([...closings, serverClosings])
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(descriptors(), before)
  await listener.close()
})

test('a reset by the peer is told as the error of the close', async () => {
  const error = await new Promise<NetError | null>((resolve) => {
    void listen(LOCAL, (connection) => connection.start(handler(connection, resolve))).then((listener) => {
      const raw = net.connect(listener.address.port, '127.0.0.1', () => raw.resetAndDestroy())
      raw.on('close', () => void listener.close())
    })
  })
  assert.equal(error?.code, 'ECONNRESET')
})

test('a peer that half-closes after its request still gets the answer', async () => {
  const listener = await listen(LOCAL, (connection) => connection.start(handler(connection, () => {})))
  const answer = await new Promise<string>((resolve) => {
    const raw = net.connect(listener.address.port, '127.0.0.1', () => raw.end('request'))
    raw.on('data', (chunk) => resolve(chunk.toString()))
  })
  assert.equal(answer, 'request')
  await listener.close()
})

test('a name that nobody knows', async () => {
  await assert.rejects(connect({ host: 'host.invalid', port: 1 }, { timeoutMs: 30_000 }), (error: NetError) => {
    return error.name === 'NetError' && ['ENOTFOUND', 'EAI_AGAIN'].includes(error.code)
  })
})

test('a host that does not answer is given up after the time allowed', {
  skip: process.platform !== 'linux',
}, async () => {
  // A stopped process completes no handshake once its short backlog is full.
  const program = `const s = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(s.address().port))`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer]
    const port = Number(chunk.toString())
    child.kill('SIGSTOP')
    const attempts = Array.from({ length: 6 }, () => connect({ host: '127.0.0.1', port }, { timeoutMs: 200 }))
    const results = await Promise.allSettled(attempts)
    const codes = results.map((result) =>
      result.status === 'rejected' ? (result.reason as NetError).code : 'connected',
    )
    assert.ok(codes.includes('ETIMEDOUT'), codes.join())
    for (const result of results) if (result.status === 'fulfilled') result.value.destroy()
  } finally {
    child.kill('SIGKILL')
  }
})

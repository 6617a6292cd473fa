import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { until } from '../support/process.ts'
import { testServer } from '../support/test-server.ts'

const HOST = 'Host: x\r\n\r\n'

function open(address: string): Socket {
  const [host = '', port = ''] = address.split(':')
  return connect({ host, port: Number(port) }).on('error', () => {})
}

/** Sends `bytes` as they are; resolves with all that came until the server closed or `done` matched. */
function exchange(address: string, bytes: string | Buffer, done = /^HTTP\/1\.1 [2-5]\d\d/): Promise<string> {
  return new Promise((resolve) => {
    let received = ''
    const socket = open(address)
    socket.on('data', (chunk: Buffer) => {
      received += chunk
      if (done.test(received)) socket.destroy()
    })
    socket.on('close', () => resolve(received))
    socket.write(bytes)
  })
}

const requests: readonly (readonly [what: string, bytes: string | Buffer, status: number])[] = [
  ['a probe', `GET /livez HTTP/1.1\r\n${HOST}`, 200],
  ['a scrape', `GET /metrics HTTP/1.1\r\n${HOST}`, 200],
  ['readiness', `GET /readyz HTTP/1.1\r\n${HOST}`, 200],
  ['odd parameters', `GET /healthz?__proto__=1&verbose=&%zz HTTP/1.1\r\n${HOST}`, 200],
  ['an unknown path', `GET /../../etc/passwd HTTP/1.1\r\n${HOST}`, 404],
  ['a broken escape', `GET /%zz%00 HTTP/1.1\r\n${HOST}`, 404],
  ['another method', `POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n${HOST}hello`, 405],
  ['a host that is none', 'GET /livez HTTP/1.1\r\nHost: []:x/\\\r\n\r\n', 400],
  ['an address that is none', `GET http://:/ HTTP/1.1\r\n${HOST}`, 400],
  ['no HTTP', Buffer.from([0, 0, 0, 18, 0, 18, 0, 3, 255, 254, 13, 10, 13, 10]), 400],
  ['two lengths', `POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n${HOST}`, 400],
  ['a long path', `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n${HOST}`, 431],
  ['a long header', `GET /livez HTTP/1.1\r\nX: ${'a'.repeat(100_000)}\r\n${HOST}`, 431],
]

test('whatever comes to the HTTP port is answered or refused, and the node goes on', async (context) => {
  const { httpAddress, process } = await testServer(context, { kind: 'millrace' })
  for (const [what, bytes, status] of requests) {
    const answer = await exchange(httpAddress, bytes)
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), what)
  }
  assert.equal(process.hasEnded, false)
})

test('a request that never ends is cut off', async (context) => {
  const { httpAddress } = await testServer(context, { kind: 'millrace' })
  const socket = open(httpAddress)
  socket.write('GET /livez HTTP/1.1\r\nX-Slow: ')
  const dripping = setInterval(() => socket.write('a'), 200)
  let answer = ''
  socket.on('data', (chunk: Buffer) => {
    answer += chunk
  })
  await once(socket, 'close')
  clearInterval(dripping)
  assert.match(answer, /^HTTP\/1\.1 408 /)
})

test('clients that ask for metrics again and again without reading keep nobody else out', async (context) => {
  const { httpAddress, process } = await testServer(context, { kind: 'millrace' })
  const sockets: Socket[] = []
  context.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let n = 0; n < 80; n++) {
    const socket = open(httpAddress).pause()
    socket.write(`GET /metrics HTTP/1.1\r\n${HOST}`.repeat(2000))
    sockets.push(socket)
  }
  await until(
    'a probe is answered',
    async () =>
      (await exchange(httpAddress, `GET /livez HTTP/1.1\r\n${HOST}`)).startsWith('HTTP/1.1 200') ? true : null,
    { timeoutMs: 60_000, everyMs: 500 },
  )
  const status = readFileSync(`/proc/${process.pid}/status`, 'utf8')
  const residentBytes = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024
  assert.ok(residentBytes < 500_000_000, `${residentBytes} bytes of memory`)
})

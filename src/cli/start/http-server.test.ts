import assert from 'node:assert/strict'
import { Server } from 'node:net'
import { test } from 'node:test'
import { silentLogger } from '../../env/logger.ts'
import { serveHttp } from './http-server.ts'

test('connections that cannot be accepted for want of descriptors do not end the node', async (context) => {
  const doors: Server[] = []
  const listen = Server.prototype.listen as (...args: unknown[]) => Server
  context.mock.method(Server.prototype, 'listen', function (this: Server, ...args: unknown[]) {
    doors.push(this)
    return listen.apply(this, args)
  })
  const warned: string[] = []
  const log = { ...silentLogger, warn: (message: string) => warned.push(message) }
  const source = { health: () => ({ live: [], ready: [] }), metrics: async () => [] }
  const { close } = await serveHttp({ host: '127.0.0.1', port: 0 }, source, log)
  context.after(close)
  for (const code of ['EMFILE', 'ENFILE']) doors[0]?.emit('error', new Error(`accept ${code}`))
  assert.equal(warned.length, 2)
})

import type { Server } from 'node:http'
import { createServer, type Server as Door, type Socket } from 'node:net'
import type { Logger } from '../../env/logger.ts'
import type { Address } from '../../env/net.ts'
import { answerHttp, type HttpSource } from '../../server/http/http-routes.ts'

export interface HttpServer {
  readonly address: Address
  close(): void
}

/** Who asks comes as a scraper or a probe, one at a time; more are turned away. */
const CONNECTIONS_MAX = 64
/** A scrape takes milliseconds; whoever is slower than this only holds a descriptor, or memory. */
const TIMEOUT_MS = 5_000

/**
 * Serves the node's HTTP routes. The port is open at once; the libraries, a tenth of a second of work and 10 MB, are
 * loaded when somebody first connects, for they would keep the first clients of a node that just started waiting.
 */
export function serveHttp(address: Address, source: HttpSource, log: Logger): Promise<HttpServer> {
  let server: Promise<Server> | null = null
  const sockets = new Set<Socket>()
  const door = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    server ??= loadServer(source)
    const serve = (loaded: Server) => {
      if (socket.destroyed) return
      loaded.emit('connection', socket)
      socket.resume()
    }
    // An installation that was replaced under a running node costs it the port, not its life.
    server.then(serve).catch((error: Error) => {
      log.error('HTTP cannot be served', { error: error.message })
      socket.destroy()
    })
  })
  door.maxConnections = CONNECTIONS_MAX
  const close = () => {
    door.close()
    for (const socket of sockets) socket.destroy()
  }
  return new Promise((resolve, reject) => {
    door.once('error', reject)
    door.listen(address.port, address.host || '0.0.0.0', () => {
      // Accepting failed (no descriptor left, say): the connection is lost, the node is not.
      door.on('error', ({ message }) => log.warn('a connection for HTTP could not be accepted', { error: message }))
      resolve({ address: boundTo(door), close })
    })
  })
}

function boundTo(door: Door): Address {
  const bound = door.address()
  if (bound === null || typeof bound === 'string') throw new Error(`no address of its own: ${bound}`)
  return { host: bound.address, port: bound.port }
}

/** Listens nowhere: it is handed its connections. */
async function loadServer(source: HttpSource): Promise<Server> {
  const [{ Hono }, { createAdaptorServer }] = await Promise.all([import('hono'), import('@hono/node-server')])
  const app = new Hono()
  app.all('*', async (context) => {
    const url = new URL(context.req.url)
    const answer = await answerHttp({ method: context.req.method, path: url.pathname, query: url.searchParams }, source)
    return context.body(answer.body, answer.status as 200, { 'content-type': answer.contentType })
  })
  const serverOptions = { connectionsCheckingInterval: 1000 }
  const server = createAdaptorServer({ fetch: app.fetch, serverOptions }) as Server
  server.requestTimeout = TIMEOUT_MS
  server.headersTimeout = TIMEOUT_MS
  server.setTimeout(TIMEOUT_MS)
  server.maxRequestsPerSocket = 100
  // Node looks at the deadlines of requests from this event on.
  server.emit('listening')
  return server
}

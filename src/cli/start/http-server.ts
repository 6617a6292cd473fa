import type { Server } from 'node:http'
import type { Address } from '../../env/net.ts'
import { answerHttp, type HttpSource } from '../../server/http/http-routes.ts'

export interface HttpServer {
  readonly address: Address
  close(): void
}

/** Serves the node's HTTP routes. The libraries are loaded here, after the node has begun to serve its clients. */
export async function serveHttp(address: Address, source: HttpSource): Promise<HttpServer> {
  const [{ Hono }, { serve }] = await Promise.all([import('hono'), import('@hono/node-server')])
  const app = new Hono()
  app.all('*', (context) => {
    const url = new URL(context.req.url)
    const answer = answerHttp({ method: context.req.method, path: url.pathname, query: url.searchParams }, source)
    return context.body(answer.body, answer.status as 200, { 'content-type': answer.contentType })
  })
  return new Promise((resolve, reject) => {
    const options = { fetch: app.fetch, hostname: address.host || '0.0.0.0', port: address.port }
    const server = serve(options, (bound) => {
      resolve({ address: { host: bound.address, port: bound.port }, close: () => close(server as Server) })
    }) as Server
    server.once('error', reject)
    // A scrape takes milliseconds; whoever is slower than this only holds a descriptor.
    server.requestTimeout = 10_000
    server.headersTimeout = 10_000
    // And whoever asks without reading the answers only holds memory.
    server.setTimeout(10_000)
    server.maxRequestsPerSocket = 100
    server.maxConnections = 64
  })
}

function close(server: Server): void {
  server.close()
  server.closeAllConnections()
}

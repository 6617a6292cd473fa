import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Address } from '../../env/net.ts'
import type { MemoryBroker } from '../../embedded/memory-broker.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { ControlError } from './bodies.ts'
import { control } from './routes.ts'

const BODY_BYTES_MAX = 64 * 1024 * 1024
const SHOWN_CHARACTERS_MAX = 200

export interface ControlServer {
  /** `http://127.0.0.1:41234` */
  readonly url: string
  close(): void
}

/** Serves JSON over HTTP to the tests that use the broker. Rejects with `CommandError` where the address is taken. */
export function serveControl(address: Address, broker: MemoryBroker): Promise<ControlServer> {
  const server = createServer((request, response) => void answer(broker, request, response))
  const { host, port } = address
  return new Promise((resolve, reject) => {
    server.once('error', ({ message }) =>
      reject(new CommandError(ExitCode.addressRefused, `cannot listen for control: ${message}`)),
    )
    server.listen(port, host, () => {
      // A connection that could not be accepted is lost, and nothing else.
      server.on('error', () => {})
      const bound = server.address() as { port: number }
      const close = () => {
        server.close()
        server.closeAllConnections()
      }
      resolve({ url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`, close })
    })
  })
}

async function answer(broker: MemoryBroker, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    send(response, 200, await outcome(broker, request))
  } catch (error) {
    if (response.destroyed) return
    const status = error instanceof ControlError ? error.status : 500
    send(response, status, { error: error instanceof Error ? error.message : String(error) })
  }
}

async function outcome(broker: MemoryBroker, request: IncomingMessage): Promise<unknown> {
  // Any page that a developer has open may send requests to loopback; a test is no page.
  if (request.headers.origin !== undefined) throw new ControlError(403, 'not from a web page')
  const { path, query } = placeOf(request.url ?? '/')
  return control(broker, { method: request.method ?? '', path, query, body: await bodyOf(request) })
}

function placeOf(target: string): { path: string[]; query: URLSearchParams } {
  try {
    const url = new URL(target, 'http://control')
    return { path: url.pathname.split('/').slice(1).map(decodeURIComponent), query: url.searchParams }
  } catch {
    throw new ControlError(400, `${target.slice(0, SHOWN_CHARACTERS_MAX)} is no path of a URL`)
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes > BODY_BYTES_MAX) throw new ControlError(413, `more than ${BODY_BYTES_MAX} bytes`)
    chunks.push(chunk as Buffer)
  }
  if (bytes === 0) return undefined
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new ControlError(400, 'the body is not JSON')
  }
}

function send(response: ServerResponse, status: number, json: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(json)}\n`)
}

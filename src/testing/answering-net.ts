import type { Connection, ConnectionHandler, Net } from '../env/net.ts'
import type { AnyApi } from '../protocol/schema.ts'

/** Takes one request, without its size, and the bytes of answers by `send`; `sent` is the writer's, where it wants to know. */
export type Serve = (frame: Buffer, send: (bytes: Buffer) => void, sent: (() => void) | undefined) => void

/** A network in which whoever is connected to is served by `serve`: for tests of clients, which do not listen. */
export function answeringNet(serve: Serve): Net {
  return {
    listen() {
      throw new Error('a client does not listen')
    },
    async connect(remote): Promise<Connection> {
      let handler: ConnectionHandler | null = null
      return {
        local: remote,
        remote,
        unsentBytes: 0,
        start: (given) => {
          handler = given
        },
        pause() {},
        resume() {},
        write: (buffers, sent) => {
          serve(Buffer.concat(buffers).subarray(4), (bytes) => handler?.data(bytes), sent)
          return true
        },
        end() {},
        destroy() {},
      }
    },
  }
}

/** The answer to ApiVersions of a node that serves these in all their versions. */
export function apiVersionsOf(apis: readonly AnyApi[]) {
  const apiKeys = apis.map(({ key, versions: [minVersion, maxVersion] }) => ({ apiKey: key, minVersion, maxVersion }))
  return { errorCode: 0, apiKeys }
}

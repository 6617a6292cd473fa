import net from 'node:net'
import type { Logger } from '../env/logger.ts'
import { type Address, type Connection, type Listener, type Net, NetError } from '../env/net.ts'
import { adoptSocket, openSocket, SOCKET_OPTIONS } from './connection.ts'
import { toNetError } from './net-error.ts'

/** Connections that the kernel completes before we have accepted them. */
const BACKLOG = 1024
const CONNECT_TIMEOUT_MS = 10_000

export function nodeNet(log: Logger): Net {
  return {
    listen(address, onConnection) {
      return listen(address, onConnection, log)
    },
    connect(address, options) {
      return connect(address, options?.timeoutMs ?? CONNECT_TIMEOUT_MS)
    },
  }
}

function listen(address: Address, onConnection: (connection: Connection) => void, log: Logger): Promise<Listener> {
  const server = net.createServer({ pauseOnConnect: true, ...SOCKET_OPTIONS })
  server.on('connection', (socket) => {
    const connection = adoptSocket(socket)
    if (connection) onConnection(connection)
  })
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(toNetError(error)))
    server.listen({ host: address.host, port: address.port, backlog: BACKLOG }, () => {
      // Accepting failed (no descriptor left, say): the connection is lost, the listener is not.
      server.on('error', (error) => log.warn('a connection could not be accepted', { error: error.message }))
      const bound = server.address() as net.AddressInfo
      resolve({ address: { host: bound.address, port: bound.port }, close: () => close(server) })
    })
  })
}

function close(server: net.Server): Promise<void> {
  return new Promise((resolve) => {
    if (server.listening) server.close(() => resolve())
    else resolve()
  })
}

function connect(address: Address, timeoutMs: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const { socket, connection } = openSocket(address)
    const timeout = setTimeout(() => {
      const text = `no connection to ${address.host}:${address.port} within ${timeoutMs} ms`
      socket.destroy(new NetError('ETIMEDOUT', text))
    }, timeoutMs)
    const failed = (error: Error) => {
      clearTimeout(timeout)
      reject(toNetError(error))
    }
    socket.once('error', failed)
    socket.once('connect', () => {
      clearTimeout(timeout)
      socket.off('error', failed)
      resolve(connection)
    })
  })
}

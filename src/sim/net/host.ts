import { assert } from '../../base/assert.ts'
import type { Connection } from '../../env/net.ts'
import type { Actor } from '../core/actor.ts'
import type { Endpoint } from './endpoint.ts'

const FIRST_FREE_PORT = 32_768
const LAST_PORT = 65_535

export interface SimListener {
  readonly actor: Actor
  readonly onConnection: (connection: Connection) => void
}

/** A machine as the network sees it. */
export class Host {
  readonly id: number
  readonly name: string
  readonly ip: string
  isUp = true
  readonly listeners = new Map<number, SimListener>()
  readonly endpoints = new Set<Endpoint>()
  #nextPort = FIRST_FREE_PORT

  constructor(options: { id: number; name: string; ip: string }) {
    this.id = options.id
    this.name = options.name
    this.ip = options.ip
  }

  /** A port that nobody listens on; not used again for a long time, as with a real kernel. */
  freePort(): number {
    for (let tries = 0; tries <= LAST_PORT - FIRST_FREE_PORT; tries++) {
      const port = this.#nextPort
      this.#nextPort = port === LAST_PORT ? FIRST_FREE_PORT : port + 1
      if (!this.listeners.has(port)) return port
    }
    assert(false, `${this.name} has no free port`)
  }

  /** Does `host` of an address mean this machine when a process on it listens? */
  owns(host: string): boolean {
    return this.isLoopback(host) || ['', '0.0.0.0', '::', this.name, this.ip].includes(host)
  }

  isLoopback(host: string): boolean {
    return host === 'localhost' || host === '::1' || host.startsWith('127.')
  }
}

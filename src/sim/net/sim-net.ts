import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import { type Address, type Connection, type Listener, type Net, NetError } from '../../env/net.ts'
import type { Actor } from '../core/actor.ts'
import type { Events } from '../core/events.ts'
import { heavyTailed } from '../core/streams.ts'
import { type Cut, Cuts } from './cuts.ts'
import { Endpoint } from './endpoint.ts'
import { Host, type SimListener } from './host.ts'
import type { Wire } from './wire.ts'

/** How the network behaves on an ordinary day. */
export interface NetProfile {
  readonly delayMs: number
  /** Share of segments that take many times as long. */
  readonly tailChance: number
  /** Share of reads that get a part only, cut anywhere. */
  readonly splitChance: number
  /** Share of dropped connections that end with a reset. */
  readonly resetChance: number
}

export const STEADY_NET: NetProfile = { delayMs: 0.1, tailChance: 0, splitChance: 0.05, resetChance: 0 }

/** What a blocked handshake waits before each of its next tries. */
const SYN_RETRIES_MS = [1000, 2000, 4000, 8000, 16_000]
const CONNECT_TIMEOUT_MS = 10_000
/** After a link is healed the kernels' next retransmissions come within this time. */
const HEALED_WITHIN_MS = 400

/** All machines and the links between them. Addresses are host names or IPs. */
export class SimNet implements Wire {
  readonly events: Events
  readonly traced: boolean
  profile: NetProfile
  /** Changes bytes that are about to arrive, as a broken switch does behind the checksums of TCP. Until `heal`. */
  tamper: ((from: Host, to: Host, chunk: Buffer) => void) | null = null
  readonly #random: Random
  readonly #hosts: Host[] = []
  readonly #cuts = new Cuts()
  #endpoints = 0
  /** Handshakes are the kernels' business: they go on while processes are stopped. */
  readonly #kernel: Actor = { id: 0, name: 'kernel', alive: true, pausedUntilMs: 0 }

  constructor(options: { events: Events; random: Random; profile: NetProfile; traced: boolean }) {
    this.events = options.events
    this.traced = options.traced
    this.profile = options.profile
    this.#random = options.random
  }

  addHost(name: string): Host {
    const id = this.#hosts.length + 1
    assert(!this.#hosts.some((host) => host.name === name), `two hosts named ${name}`)
    const host = new Host({ id, name, ip: `10.0.${id >> 8}.${id & 0xff}` })
    this.#hosts.push(host)
    return host
  }

  /** The network as one process on `host` sees it. */
  netOf(host: Host, actor: Actor): Net {
    return {
      listen: (address, onConnection) => this.#listen(host, actor, address, onConnection),
      connect: (address, options) => this.#connect(host, actor, address, options?.timeoutMs ?? CONNECT_TIMEOUT_MS),
    }
  }

  isOpen(from: Host, to: Host): boolean {
    return from === to || (from.isUp && to.isUp && !this.#cuts.isCut(from, to))
  }

  delayMs(from: Host, to: Host): number {
    const { delayMs, tailChance } = this.profile
    return from === to ? delayMs / 4 : heavyTailed(this.#random, delayMs, tailChance)
  }

  cut(available: number): number {
    if (available <= 1 || !this.#random.chance(this.profile.splitChance)) return available
    return 1 + this.#random.below(this.#random.chance(0.3) ? Math.min(available, 8) : available)
  }

  tampered(from: Host, to: Host, chunk: Buffer): void {
    this.tamper?.(from, to, chunk)
  }

  resets(): boolean {
    return this.#random.chance(this.profile.resetChance)
  }

  /** Nothing gets from one host to the other any more, in this direction only. */
  cutLink(from: Host, to: Host): Cut {
    return this.cutLinks([[from, to]])
  }

  /** Nothing gets from the first to the second host of each pair any more. */
  cutLinks(directions: readonly (readonly [Host, Host])[]): Cut {
    return this.#cuts.add(directions, (open) => {
      const hosts = new Set(open.flat())
      for (const host of hosts) this.#goOn(host, (other) => hosts.has(other))
    })
  }

  /** Nothing gets between the two, in either direction. */
  cutBetween(one: Host, other: Host): Cut {
    return this.cutLinks([
      [one, other],
      [other, one],
    ])
  }

  /** Nothing gets to or from the host. */
  isolate(host: Host): Cut {
    const others = this.#hosts.filter((other) => other !== host)
    return this.cutLinks(
      others.flatMap((other): [Host, Host][] => [
        [host, other],
        [other, host],
      ]),
    )
  }

  /** All links work again, and what waited goes on. */
  heal(): void {
    this.tamper = null
    this.#cuts.clear()
    for (const host of this.#hosts) this.#goOn(host, () => true)
  }

  /** What waited for a way between the host and some others. */
  #goOn(host: Host, isOther: (other: Host) => boolean): void {
    for (const endpoint of host.endpoints) {
      if (!isOther(endpoint.peer.host)) continue
      // The other side may have left its host already, with bytes still under way.
      for (const pipe of [endpoint.outgoing, endpoint.peer.outgoing]) {
        pipe.confirmIfOpen()
        pipe.scheduleDelivery(this.#random.float() * HEALED_WITHIN_MS)
      }
      endpoint.peerIsBack()
    }
  }

  /**
   * What is sent on the connections there are now, in this direction, arrives only after `ms`. New connections know nothing of
   * it: so bytes of a connection that is dead may arrive after its successor's.
   */
  holdBack(from: Host, to: Host, ms: number): void {
    for (const endpoint of from.endpoints) {
      if (endpoint.peer.host === to) endpoint.outgoing.hold(this.events.nowMs + ms)
    }
  }

  /** Resets every connection between two hosts, with all that was under way. */
  resetConnections(one: Host, other: Host): void {
    for (const endpoint of [...one.endpoints]) {
      if (endpoint.peer.host !== other) continue
      endpoint.fail('ECONNRESET', 'the connection was reset on its way')
      endpoint.peer.fail('ECONNRESET', 'the connection was reset on its way')
    }
  }

  /** The process ended, its machine goes on: the kernel closes its sockets. */
  processDied(host: Host, actor: Actor): void {
    for (const endpoint of [...host.endpoints]) if (endpoint.actor === actor) endpoint.died()
    this.#forgetListeners(host, actor)
  }

  /** The machine lost power: its sockets are gone without a word. */
  lostPower(host: Host): void {
    host.isUp = false
    for (const endpoint of [...host.endpoints]) endpoint.lost()
    host.listeners.clear()
  }

  gotPower(host: Host): void {
    host.isUp = true
    for (const other of this.#hosts) {
      for (const endpoint of other.endpoints) if (endpoint.peer.host === host) endpoint.peerIsBack()
    }
  }

  #forgetListeners(host: Host, actor: Actor): void {
    for (const [port, listener] of host.listeners) if (listener.actor === actor) host.listeners.delete(port)
  }

  #listen(host: Host, actor: Actor, address: Address, onConnection: (c: Connection) => void): Promise<Listener> {
    return new Promise((resolve, reject) => {
      this.events.schedule(actor, 0, 'net listen', address.port, () => {
        const where = `${address.host}:${address.port}`
        if (!host.owns(address.host)) return reject(new NetError('EADDRNOTAVAIL', `${where} is not of this machine`))
        if (host.listeners.has(address.port)) return reject(new NetError('EADDRINUSE', `${where} is in use`))
        const port = address.port === 0 ? host.freePort() : address.port
        const listener: SimListener = { actor, onConnection }
        host.listeners.set(port, listener)
        resolve({
          address: { host: address.host, port },
          close: () => this.#close(host, port, listener),
        })
      })
    })
  }

  #close(host: Host, port: number, listener: SimListener): Promise<void> {
    if (host.listeners.get(port) === listener) host.listeners.delete(port)
    return new Promise((resolve) => {
      this.events.schedule(listener.actor, 0, 'net unlisten', port, resolve)
    })
  }

  #connect(host: Host, actor: Actor, address: Address, timeoutMs: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const target = host.isLoopback(address.host) ? host : this.#find(address.host)
      const where = `${address.host}:${address.port}`
      if (target === null) {
        this.events.schedule(actor, this.profile.delayMs, 'net resolve', 0, () => {
          reject(new NetError('ENOTFOUND', `no machine is called ${address.host}`))
        })
        return
      }
      const timeout = this.events.schedule(actor, timeoutMs, 'net connect timeout', 0, () => {
        attempt.settle(() => reject(new NetError('ETIMEDOUT', `no connection to ${where} within ${timeoutMs} ms`)))
      })
      const attempt = new Attempt(() => timeout.cancel())
      const knock = (tries: number) => {
        if (attempt.settled || !actor.alive) return
        const isOpen = this.isOpen(host, target) && this.isOpen(target, host)
        const retryMs = SYN_RETRIES_MS[tries]
        if (isOpen) this.#shakeHands({ host, actor, target, address, attempt, resolve, reject })
        else if (retryMs !== undefined) {
          this.events.schedule(actor, retryMs, 'net retry', tries, () => knock(tries + 1))
        }
      }
      knock(0)
    })
  }

  #shakeHands(call: Handshake): void {
    const { host, target, address } = call
    this.events.schedule(this.#kernel, this.delayMs(host, target), 'net syn', address.port, () => {
      const listener = target.listeners.get(address.port)
      if (call.attempt.settled || !call.actor.alive || !target.isUp) return
      if (listener === undefined) this.#refuse(call)
      else this.#accept(call, listener)
    })
  }

  #refuse({ host, actor, target, address, attempt, reject }: Handshake): void {
    this.events.schedule(actor, this.delayMs(target, host), 'net refused', address.port, () => {
      attempt.settle(() => reject(new NetError('ECONNREFUSED', `nobody listens on ${address.host}:${address.port}`)))
    })
  }

  #accept({ host, actor, target, address, attempt, resolve }: Handshake, listener: SimListener): void {
    const isLoopback = host.isLoopback(address.host)
    const here = { host: isLoopback ? address.host : host.ip, port: host.freePort() }
    const there = { host: isLoopback ? address.host : target.ip, port: address.port }
    const id = ++this.#endpoints
    const client = new Endpoint(this, { id, host, actor, local: here, remote: { ...address } })
    const server = new Endpoint(this, { id: -id, host: target, actor: listener.actor, local: there, remote: here })
    Endpoint.join(this, client, server)
    this.events.schedule(listener.actor, 0, 'net accept', id, () => listener.onConnection(server))
    this.events.schedule(actor, this.delayMs(target, host), 'net connected', id, () => {
      if (attempt.settled) client.destroy()
      else attempt.settle(() => resolve(client))
    })
  }

  #find(name: string): Host | null {
    return this.#hosts.find((host) => host.name === name || host.ip === name) ?? null
  }
}

interface Handshake {
  readonly host: Host
  readonly actor: Actor
  readonly target: Host
  readonly address: Address
  readonly attempt: Attempt
  readonly resolve: (connection: Connection) => void
  readonly reject: (error: NetError) => void
}

/** One call of `connect`, which is answered once. */
class Attempt {
  settled = false
  readonly #cleanUp: () => void

  constructor(cleanUp: () => void) {
    this.#cleanUp = cleanUp
  }

  settle(answer: () => void): void {
    if (this.settled) return
    this.settled = true
    this.#cleanUp()
    answer()
  }
}

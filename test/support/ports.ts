import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const first = 10_000
const last = 60_000
/** One file a port, named by it, that holds the id of the process which has it: tests run side by side. */
const reservations = join(tmpdir(), 'millrace-test-ports')

/**
 * A loopback port for this process alone until it ends: nothing listens on it, no other call here or in a process
 * beside this one gets it, and the system does not take it for an outgoing connection.
 */
export function freePort(): Promise<number> {
  return freePorts(1)
}

/** The first of `count` such ports in a row. */
export async function freePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const start = first + Math.floor(Math.random() * (last - first - count))
    if (await areFree(Array.from({ length: count }, (_, index) => start + index))) return start
  }
  throw new Error(`no ${count} free ports in a row between ${first} and ${last}`)
}

async function areFree(ports: readonly number[]): Promise<boolean> {
  for (const port of ports) if (isOutgoing(port) || !reserve(port) || !(await canListen(port))) return false
  return true
}

let outgoing: readonly [number, number] | null = null

function isOutgoing(port: number): boolean {
  outgoing ??= outgoingRange()
  return port >= outgoing[0] && port <= outgoing[1]
}

/** The range of ports that connections get by themselves; where it leaves no room below or above it, it does not count. */
function outgoingRange(): readonly [number, number] {
  const [low = 32_768, high = 60_999] = systemRange()
  return low - first < 1000 && last - high < 1000 ? [0, 0] : [low, high]
}

function systemRange(): number[] {
  try {
    return readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/).map(Number)
  } catch {
    return []
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

const own = new Set<string>()

function reserve(port: number): boolean {
  const file = join(reservations, String(port))
  if (ownerIsGone(file)) rmSync(file, { force: true })
  try {
    mkdirSync(reservations, { recursive: true })
    writeFileSync(file, String(process.pid), { flag: 'wx' })
  } catch {
    return false
  }
  if (own.size === 0) process.once('exit', release)
  own.add(file)
  return true
}

function release(): void {
  for (const file of own) rmSync(file, { force: true })
}

function ownerIsGone(file: string): boolean {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

import { spawn } from 'node:child_process'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { atExit } from '../support/at-exit.ts'
import { runOrFail } from '../support/process.ts'

/** Names of namespaces begin with this and the id of the process that made them. */
const PREFIX = 'millrace'
const NAMESPACES = '/run/netns'
/** The addresses exist only inside the namespaces that are made here. */
const subnet = (index: number) => `10.77.${index}`

/**
 * Zones that are connected like sites over a router: each is a network namespace with one cable (veth) to the namespace of
 * this process, which forwards. What goes from one zone to another can be dropped, each way on its own, without a sign to
 * either side. This process itself reaches every zone at all times.
 */
export class ZoneNetwork {
  readonly #zones: readonly string[]
  /** Priorities of the routing rules that drop. */
  readonly #cuts = new Set<number>()
  #nextPriority = 100

  private constructor(zones: readonly string[]) {
    this.#zones = zones
  }

  /** To be called in the namespace that `enterOwnNetwork` gives. */
  static async create(zones: readonly string[]): Promise<ZoneNetwork> {
    if (process.env[INSIDE] === undefined) throw new Error('enterOwnNetwork was not called')
    removeLeftOver()
    const network = new ZoneNetwork(zones)
    atExit('mounts', () => network.remove())
    await ip('link', 'set', 'lo', 'up')
    for (const zone of zones) await network.#connect(zone)
    // The file is that of the namespace of whoever opens it.
    writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
    return network
  }

  async #connect(zone: string): Promise<void> {
    const name = this.#nameOf(zone)
    const cable = `zone-${this.#indexOf(zone)}`
    await ip('netns', 'add', name)
    await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    await ip('address', 'add', `${this.#gatewayOf(zone)}/24`, 'dev', cable)
    await ip('link', 'set', cable, 'up')
    await ip('-n', name, 'address', 'add', `${this.hostOf(zone)}/24`, 'dev', 'eth0')
    await ip('-n', name, 'link', 'set', 'eth0', 'up')
    await ip('-n', name, 'link', 'set', 'lo', 'up')
    await ip('-n', name, 'route', 'add', 'default', 'via', this.#gatewayOf(zone))
  }

  /** The address of the zone's one host. */
  hostOf(zone: string): string {
    return `${subnet(this.#indexOf(zone))}.2`
  }

  #gatewayOf(zone: string): string {
    return `${subnet(this.#indexOf(zone))}.1`
  }

  /** Put before a command that is to run in the zone. */
  wrapperOf(zone: string): string[] {
    return ['nsenter', `--net=${NAMESPACES}/${this.#nameOf(zone)}`]
  }

  /** Drops what goes this one way, until `heal`. */
  async cut({ from, to }: { from: string; to: string }): Promise<void> {
    const priority = this.#nextPriority++
    this.#cuts.add(priority)
    const [source, target] = [this.hostOf(from), this.hostOf(to)]
    await ip('rule', 'add', 'priority', String(priority), 'from', source, 'to', target, 'blackhole')
  }

  /** Nothing comes out of the zone any more, nothing gets in. */
  async isolate(zone: string): Promise<void> {
    for (const other of this.#zones.filter((each) => each !== zone)) {
      await this.cut({ from: zone, to: other })
      await this.cut({ from: other, to: zone })
    }
  }

  async heal(): Promise<void> {
    const cuts = [...this.#cuts]
    this.#cuts.clear()
    for (const priority of cuts) await ip('rule', 'del', 'priority', String(priority))
  }

  #indexOf(zone: string): number {
    const index = this.#zones.indexOf(zone)
    if (index < 0) throw new Error(`no zone ${zone}`)
    return index + 1
  }

  #nameOf(zone: string): string {
    return `${PREFIX}-${process.pid}-${zone}`
  }

  /** Nobody may run in the zones any more. */
  remove(): void {
    for (const zone of this.#zones) removeNamespace(this.#nameOf(zone))
  }
}

const INSIDE = 'MILLRACE_OWN_NETWORK'

/**
 * Runs this program again in a network namespace of its own, and ends with it; returns where it is in one already. Nothing that
 * happens to the network there touches the machine's own.
 */
export async function enterOwnNetwork(): Promise<void> {
  if (process.env[INSIDE] !== undefined) return
  const args = ['--net', process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const child = spawn('unshare', args, { stdio: 'inherit', env: { ...process.env, [INSIDE]: '1' } })
  process.on('exit', () => child.kill('SIGTERM'))
  process.exit(
    await new Promise<number>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve(code ?? 1))
    }),
  )
}

/** Namespaces of runs that were killed before they could tidy up. */
function removeLeftOver(): void {
  if (!existsSync(NAMESPACES)) return
  for (const name of readdirSync(NAMESPACES)) {
    const [, pid] = new RegExp(`^${PREFIX}-(\\d+)-`).exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeNamespace(name)
  }
}

function removeNamespace(name: string): void {
  if (existsSync(`${NAMESPACES}/${name}`)) execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' })
}

function ip(...args: string[]): Promise<string> {
  return runOrFail('ip', args)
}

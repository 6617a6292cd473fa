import type { Random } from '../../src/base/random.ts'
import { type Cluster, zoneOf } from '../cluster/cluster.ts'
import { LoopDisk } from '../crash/loop-disk.ts'
import { Background } from '../support/process.ts'

/** One fault as it was: for the report, and to find which one a gap belongs to. */
export interface Strike {
  readonly name: string
  readonly text: string
  readonly fromMs: number
  /** When it was undone, so far as the nemesis can: a node takes a moment longer to be back in sync. */
  toMs: number
}

interface Context {
  readonly cluster: Cluster
  readonly random: Random
  /** Where the producers run. */
  readonly clientZone: string
  /** By node: the file system that holds all it has. */
  readonly disks: ReadonlyMap<number, LoopDisk>
}

/** Does something bad; what it returns undoes it. */
type Fault = (context: Context, nodeId: number) => Promise<() => Promise<void>>

const kill: Fault = async ({ cluster }, nodeId) => {
  await cluster.node(nodeId).kill()
  return () => cluster.restart(nodeId)
}

const stop: Fault = async ({ cluster }, nodeId) => {
  await cluster.node(nodeId).stop()
  return () => cluster.restart(nodeId)
}

const pause: Fault = async ({ cluster }, nodeId) => {
  cluster.pause(nodeId)
  return async () => cluster.resume(nodeId)
}

const isolate: Fault = async ({ cluster }, nodeId) => {
  await cluster.isolate(nodeId)
  return () => cluster.heal()
}

/** Clients still reach the node; nodes do not. */
const cutFromNodes: Fault = async ({ cluster }, nodeId) => {
  cluster.unreliable.add(nodeId)
  for (const other of othersOf(cluster, nodeId)) {
    await cluster.network.cut({ from: zoneOf(nodeId), to: zoneOf(other) })
    await cluster.network.cut({ from: zoneOf(other), to: zoneOf(nodeId) })
  }
  return () => cluster.heal()
}

/** The node hears all and is heard by none. */
const mute: Fault = async ({ cluster, clientZone }, nodeId) => {
  cluster.unreliable.add(nodeId)
  for (const to of [...othersOf(cluster, nodeId).map(zoneOf), clientZone]) {
    await cluster.network.cut({ from: zoneOf(nodeId), to })
  }
  return () => cluster.heal()
}

/** One of six directions between nodes. */
const oneWay: Fault = async ({ cluster, random }, nodeId) => {
  cluster.unreliable.add(nodeId)
  await cluster.network.cut({ from: zoneOf(nodeId), to: zoneOf(random.pick(othersOf(cluster, nodeId))) })
  return () => cluster.heal()
}

/** Of its disk, what was synced is left. */
const cutPower: Fault = async (context, nodeId) => cutPowerOf(context, [nodeId])

const cutAllPower: Fault = async (context) =>
  cutPowerOf(
    context,
    context.cluster.nodes.filter(({ isRunning }) => isRunning).map(({ place }) => place.nodeId),
  )

async function cutPowerOf({ cluster, disks }: Context, nodeIds: readonly number[]): Promise<() => Promise<void>> {
  const machines = nodeIds.map((id) => ({ disk: diskOf(disks, id), pid: cluster.node(id).process.pid }))
  await LoopDisk.cutPower(machines, async () => {
    for (const id of nodeIds) await cluster.node(id).kill()
  })
  return async () => {
    for (const id of nodeIds) await cluster.node(id).launch()
    for (const id of nodeIds) await cluster.node(id).ready(90_000)
  }
}

const fillDisk: Fault = async ({ disks }, nodeId) => {
  const free = diskOf(disks, nodeId).fill()
  return async () => free()
}

/** Every write and sync takes a third of a second, and every system call a little: the process is traced. */
const slowDisk: Fault = async ({ cluster }, nodeId) => {
  const calls = 'fdatasync,fsync,pwrite64,pwritev,pwritev2,writev'
  const args = ['-f', '-q', '-o', '/dev/null', '-p', String(cluster.node(nodeId).process.pid)]
  args.push('-e', `trace=${calls}`, '-e', `inject=fdatasync,fsync,pwritev,pwritev2,pwrite64:delay_enter=300000`)
  const tracer = new Background('strace', 'strace', args, { outputFile: '/dev/null' })
  return async () => {
    await tracer.stop()
  }
}

function diskOf(disks: ReadonlyMap<number, LoopDisk>, nodeId: number): LoopDisk {
  const disk = disks.get(nodeId)
  if (disk === undefined) throw new Error(`node ${nodeId} has no disk of its own`)
  return disk
}

function othersOf(cluster: Cluster, nodeId: number): number[] {
  return cluster.nodes.map(({ place }) => place.nodeId).filter((id) => id !== nodeId)
}

interface Kind {
  readonly run: Fault
  /** Shortest and longest. */
  readonly forMs: readonly [number, number]
  /** Left out: any node. */
  whom?(context: Context): Promise<number>
}

const faults: Readonly<Record<string, Kind>> = {
  'kill -9': { run: kill, forMs: [0, 8000] },
  'kill -9 of the controller': { run: kill, forMs: [0, 8000], whom: ({ cluster }) => cluster.controller() },
  SIGSTOP: { run: pause, forMs: [500, 12_000] },
  SIGTERM: { run: stop, forMs: [0, 2000] },
  'zone cut off': { run: isolate, forMs: [500, 12_000] },
  'node cut from nodes': { run: cutFromNodes, forMs: [500, 12_000] },
  'node muted': { run: mute, forMs: [500, 12_000] },
  'one-way cut': { run: oneWay, forMs: [500, 12_000] },
  'power cut': { run: cutPower, forMs: [0, 8000] },
  'power cut of all': { run: cutAllPower, forMs: [0, 2000] },
  'full disk': { run: fillDisk, forMs: [500, 12_000] },
  'slow disk': { run: slowDisk, forMs: [500, 12_000] },
}
export const faultNames: readonly string[] = Object.keys(faults)

/** Strikes one node after the other, at random. */
export class Nemesis {
  readonly strikes: Strike[] = []
  readonly #context: Context
  readonly #names: readonly string[]

  constructor(context: Context, names: readonly string[]) {
    this.#context = context
    this.#names = names
  }

  /** One random fault on a random node; over when this resolves. */
  async strike(): Promise<void> {
    const { random } = this.#context
    const name = random.pick(this.#names)
    const fault = faults[name]
    if (fault === undefined) throw new Error(`no fault ${name}; there are ${faultNames.join(', ')}`)
    await this.#run(name, fault, random.between(...fault.forMs))
  }

  /** A whole zone is gone for so long. */
  async loseZone(forMs: number): Promise<void> {
    await this.#run('zone lost', { run: isolate, forMs: [forMs, forMs] }, forMs)
  }

  async #run(name: string, { run, whom }: Kind, forMs: number): Promise<void> {
    const { cluster, random } = this.#context
    const nodeId = whom === undefined ? random.pick(cluster.nodes).place.nodeId : await whom(this.#context)
    const strike: Strike = { name, text: `${name}, node ${nodeId}, ${forMs} ms`, fromMs: Date.now(), toMs: 0 }
    this.strikes.push(strike)
    const undo = await run(this.#context, nodeId)
    await new Promise((resolve) => setTimeout(resolve, forMs))
    await undo()
    strike.toMs = Date.now()
  }
}

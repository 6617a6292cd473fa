import { assert } from '../base/assert.ts'
import type { Random } from '../base/random.ts'
import type { Clock, Timer, Timers } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import type { Actor } from './core/actor.ts'
import type { Scheduler } from './core/scheduler.ts'
import type { Streams } from './core/streams.ts'
import { flipBit, loseName, overwrite, replaceContent, swapNames } from './disk/damage.ts'
import { type DiskFault, DiskFaults, type DiskProfile } from './disk/disk-faults.ts'
import { becomeImage, type DiskImage, imageOf } from './disk/disk-image.ts'
import { FileTree } from './disk/file-tree.ts'
import { type Loss, losePower } from './disk/power-loss.ts'
import { SimDiskWorker } from './disk/sim-disk-worker.ts'
import { type LockTable, TreeDisk } from './disk/tree-disk.ts'
import { type LogKeeper, simLogger } from './log-keeper.ts'
import type { Host } from './net/host.ts'
import type { SimNet } from './net/sim-net.ts'

export interface MachineParts {
  readonly name: string
  readonly scheduler: Scheduler
  readonly streams: Streams
  readonly net: SimNet
  readonly logs: LogKeeper
  readonly diskProfile: DiskProfile
  /** Hands out ids of processes, unique in the run. */
  readonly nextActorId: () => number
}

/** One run of one program on a machine. */
export interface Process {
  readonly actor: Actor
  readonly env: Env
  readonly disk: TreeDisk
}

/** Wall clocks of the simulated world begin here: 2026-01-01T00:00:00Z. */
const WALL_START_MS = 1_767_225_600_000

/**
 * A computer: a disk that outlives its processes, a place in the network, a clock of its own. Processes are started on it;
 * a crash ends them all, with or without the power.
 */
export class Machine {
  readonly name: string
  readonly host: Host
  readonly tree: FileTree
  /** Added to the wall clock; a scenario may move it at any time, both ways. */
  wallOffsetMs = 0
  /** The wall clock runs this much faster than real time; 0.001 is 1 ms a second. */
  wallDrift = 0
  /** How often what was durable was harmed or taken away. Who compares the disk with what it held before starts anew then. */
  harms = 0
  /** Timers fire up to this much late. */
  timerLateMs = 0.5
  readonly diskState: {
    profile: DiskProfile
    readonly faults: DiskFaults
    stalledUntilMs: number
    openFilesMax: number
  }
  readonly #parts: MachineParts
  readonly #locks: LockTable = new Map()
  #processes: (Process & { readonly worker: SimDiskWorker })[] = []

  constructor(parts: MachineParts) {
    this.name = parts.name
    this.#parts = parts
    this.host = parts.net.addHost(parts.name)
    this.tree = new FileTree({ journal: true, wallMs: () => this.wallMs() })
    this.diskState = {
      profile: parts.diskProfile,
      faults: new DiskFaults(),
      stalledUntilMs: 0,
      openFilesMax: Number.POSITIVE_INFINITY,
    }
  }

  wallMs(): number {
    const { nowMs } = this.#parts.scheduler
    return Math.floor(WALL_START_MS + nowMs * (1 + this.wallDrift) + this.wallOffsetMs)
  }

  get isRunning(): boolean {
    return this.#processes.length > 0
  }

  /** Starts a process, powering the machine up when it was off. Its environment is its own for as long as it lives. */
  boot(): Process {
    const { scheduler, streams, net, logs, nextActorId } = this.#parts
    if (!this.host.isUp) net.gotPower(this.host)
    const id = nextActorId()
    const actor: Actor = { id, name: `${this.name}#${id}`, alive: true, pausedUntilMs: 0 }
    const worker = new SimDiskWorker(scheduler, actor, streams.disk, this.diskState)
    const disk = new TreeDisk(this.tree, worker, this.#locks)
    const startMs = scheduler.nowMs
    const clock: Clock = { wallMs: () => this.wallMs(), monotonicMs: () => scheduler.nowMs - startMs }
    const entropy = streams.entropy.fork()
    const env: Env = {
      clock,
      timers: timersOf(scheduler, actor, streams.clock, () => this.timerLateMs),
      net: net.netOf(this.host, actor),
      disk,
      log: simLogger(logs, actor.name, () => scheduler.nowMs),
      randomBytes: (length) => entropy.bytes(length),
    }
    const process = { actor, env, disk, worker }
    this.#processes.push(process)
    return process
  }

  /** Kills the process, as `kill -9` does: what it had written stays written. */
  kill(process: Process): void {
    const own = this.#processes.find((each) => each.actor === process.actor)
    if (own === undefined) return
    own.actor.alive = false
    own.worker.abandon()
    own.disk.releaseLocks()
    this.#parts.net.processDied(this.host, own.actor)
    this.#processes = this.#processes.filter((each) => each !== own)
  }

  /** The power goes: all processes, and what `loss` says of what was not durable. It stays off until `boot`. */
  losePower(loss: Loss): void {
    this.#parts.net.lostPower(this.host)
    for (const process of this.#processes) {
      process.actor.alive = false
      process.worker.abandon()
      process.disk.releaseLocks()
    }
    this.#processes = []
    losePower(this.tree, this.#parts.streams.disk, loss)
  }

  /** All processes stand still for a while, as with SIGSTOP or a long garbage collection. */
  pause(ms: number): void {
    const untilMs = this.#parts.scheduler.nowMs + ms
    for (const { actor } of this.#processes) actor.pausedUntilMs = Math.max(actor.pausedUntilMs, untilMs)
  }

  /** The disk completes nothing for a while. */
  stallDisk(ms: number): void {
    this.diskState.stalledUntilMs = Math.max(this.diskState.stalledUntilMs, this.#parts.scheduler.nowMs + ms)
  }

  /** The next operations that match fail. A failed sync forgets what it covered, as Linux does. */
  failDisk(fault: DiskFault): void {
    this.diskState.faults.add(fault)
  }

  /** Leaves `bytes` of room on the disk; `Infinity` takes the limit away. */
  leaveRoom(bytes: number): void {
    this.tree.capacityBytes = this.tree.usedBytes + bytes
  }

  /** Paths and lengths of all files below `path`. */
  files(path: string): { path: string; bytes: number }[] {
    return this.tree.list(path).flatMap((name) => {
      const below = `${path}/${name}`
      const stat = this.tree.stat(below)
      return stat?.kind === 'directory' ? this.files(below) : [{ path: below, bytes: stat?.bytes ?? 0 }]
    })
  }

  /** Flips one bit of a file at rest. Throws `DiskError` when there is no such file. */
  flipBit(path: string, position: number, bit = 0): void {
    const file = this.tree.file(path)
    assert(position < file.content.length, `${path} has ${file.content.length} bytes, flip at ${position}`)
    this.harms++
    flipBit(file, position, bit)
  }

  /** What is in a file. Throws `DiskError` when there is no such file. */
  contentOf(path: string): Buffer {
    const { content } = this.tree.file(path)
    const bytes = Buffer.alloc(content.length)
    content.read(bytes, 0)
    return bytes
  }

  /** A write that was meant for another place, or came later than its report: `bytes` are at `position` now. */
  overwrite(path: string, position: number, bytes: Buffer): void {
    this.harms++
    overwrite(this.tree.file(path), position, bytes)
  }

  replaceContent(path: string, bytes: Buffer): void {
    this.harms++
    replaceContent(this.tree.file(path), bytes)
  }

  /** A file or a folder is gone. The processes are down. */
  loseName(path: string): void {
    assert(!this.isRunning, `${this.name} is running`)
    this.harms++
    loseName(this.tree, path)
  }

  /** Two files or two folders change places. The processes are down. */
  swapNames(onePath: string, otherPath: string): void {
    assert(!this.isRunning, `${this.name} is running`)
    this.harms++
    swapNames(this.tree, onePath, otherPath)
  }

  /** A copy of all that is durable now; also while processes run. */
  takeImage(): DiskImage {
    return imageOf(this.tree)
  }

  /** The disk is `image` from now on: an older one of this machine, or one of another machine. The power is off. */
  restoreImage(image: DiskImage): void {
    assert(!this.isRunning, `${this.name} is running`)
    this.harms++
    becomeImage(this.tree, image)
  }

  /** Another disk, with nothing on it. The power is off. */
  wipe(): void {
    assert(!this.isRunning, `${this.name} is running`)
    this.harms++
    this.tree.clear()
  }
}

function timersOf(scheduler: Scheduler, actor: Actor, random: Random, lateMs: () => number): Timers {
  return {
    after(delayMs, callback): Timer {
      return scheduler.schedule(actor, Math.max(0, delayMs) + random.float() * lateMs(), 'timer', 0, callback)
    },
  }
}

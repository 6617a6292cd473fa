import { randomBytes } from 'node:crypto'
import type { Clock, Timer, Timers } from '../env/clock.ts'
import type { Disk } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import type { Logger } from '../env/logger.ts'
import type { Listener, Net } from '../env/net.ts'
import { nodeNet } from '../env-node/net.ts'
import { nodeTimers } from '../env-node/timers.ts'
import { immediateWorker } from '../sim/disk/disk-work.ts'
import type { FileTree } from '../sim/disk/file-tree.ts'
import { type LockTable, TreeDisk } from '../sim/disk/tree-disk.ts'
import { LivingConnection } from './living-connection.ts'

export interface LifeOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly tree: FileTree
  readonly locks: LockTable
}

/**
 * One incarnation of a node in a process that goes on without it: real sockets and timers, a disk in memory. When it has
 * ended nothing of it runs any more: its connections are closed by the kernel's own doing, its timers do not fire, its promises never
 * settle. While it is paused everything waits, as with SIGSTOP.
 */
export class Life {
  readonly env: Env
  #isOver = false
  /** What happened while it was paused, in order; null: it is not. */
  #waiting: (() => void)[] | null = null
  readonly #timers = new Set<Timer>()
  readonly #connections = new Set<LivingConnection>()
  readonly #listeners = new Set<Listener>()
  readonly #disk: TreeDisk

  constructor({ clock, log, tree, locks }: LifeOptions) {
    const worker = {
      ...immediateWorker,
      perform: <T>(work: Parameters<typeof immediateWorker.perform<T>>[0]) => this.#perform(work),
    }
    this.#disk = new TreeDisk(tree, worker, locks)
    this.env = {
      clock,
      timers: this.#timersOf(),
      net: this.#netOf(nodeNet(log)),
      disk: this.#disk satisfies Disk,
      log,
      randomBytes: (length) => randomBytes(length),
    }
  }

  get isPaused(): boolean {
    return this.#waiting !== null
  }

  /** What happens to this incarnation goes through here. */
  run(happening: () => void): void {
    if (this.#isOver) return
    if (this.#waiting !== null) this.#waiting.push(happening)
    else happening()
  }

  pause(): void {
    if (this.#isOver || this.#waiting !== null) return
    this.#waiting = []
    for (const connection of this.#connections) connection.hold()
  }

  resume(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = null
    for (const happening of waiting) this.run(happening)
    for (const connection of this.#connections) connection.release()
  }

  /** At once, as `kill -9`. Resolves when its ports are free. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#waiting = null
    for (const timer of this.#timers) timer.cancel()
    for (const connection of this.#connections) connection.destroy()
    this.#disk.releaseLocks()
    await Promise.all([...this.#listeners].map((listener) => listener.close()))
  }

  async #perform<T>(work: Parameters<typeof immediateWorker.perform<T>>[0]): Promise<T> {
    if (this.#isOver || this.#waiting !== null) await new Promise<void>((resolve) => this.run(resolve))
    return immediateWorker.perform(work)
  }

  #timersOf(): Timers {
    return {
      after: (delayMs, callback) => {
        const timer = nodeTimers.after(delayMs, () => {
          this.#timers.delete(timer)
          this.run(callback)
        })
        this.#timers.add(timer)
        return {
          cancel: () => {
            this.#timers.delete(timer)
            timer.cancel()
          },
        }
      },
    }
  }

  #netOf(net: Net): Net {
    return {
      listen: async (address, onConnection) => {
        const listener = await net.listen(address, (connection) => {
          if (this.#isOver) connection.destroy()
          else this.run(() => onConnection(this.#adopt(connection)))
        })
        this.#listeners.add(listener)
        if (this.#isOver) await listener.close()
        return {
          address: listener.address,
          close: () => {
            this.#listeners.delete(listener)
            return listener.close()
          },
        }
      },
      connect: async (address, options) => {
        const connection = await net.connect(address, options)
        if (this.#isOver) connection.destroy()
        await new Promise<void>((resolve) => this.run(resolve))
        return this.#adopt(connection)
      },
    }
  }

  #adopt(connection: ConstructorParameters<typeof LivingConnection>[0]): LivingConnection {
    const living = new LivingConnection(connection, this, () => this.#connections.delete(living))
    this.#connections.add(living)
    return living
  }
}

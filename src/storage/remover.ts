import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import { removeIfThere } from './files.ts'

interface Removal {
  readonly path: string
  readonly isTree: boolean
  readonly dueMs: number
}

/**
 * Unlinks files in the background, one after the other, so that ten thousand of them do not stall the disk. A removal
 * that fails is left to the next start, which finds the suffix.
 */
export class Remover {
  readonly #env: Env
  #waiting: Removal[] = []
  #timer: Timer | null = null
  #isRunning = false
  #isStopped = false

  constructor(env: Env) {
    this.#env = env
  }

  removeFile(path: string, delayMs: number): void {
    this.#add({ path, isTree: false, dueMs: this.#env.clock.monotonicMs() + delayMs })
  }

  removeTree(path: string): void {
    this.#add({ path, isTree: true, dueMs: this.#env.clock.monotonicMs() })
  }

  /** What waits for its time goes now: the disk is full. */
  hurry(): void {
    this.#waiting = this.#waiting.map((removal) => ({ ...removal, dueMs: 0 }))
    this.#schedule()
  }

  #add(removal: Removal): void {
    this.#waiting.push(removal)
    this.#schedule()
  }

  #schedule(): void {
    this.#timer?.cancel()
    this.#timer = null
    if (this.#isRunning || this.#isStopped || this.#waiting.length === 0) return
    const dueMs = this.#waiting.reduce((soonest, removal) => Math.min(soonest, removal.dueMs), Number.MAX_VALUE)
    this.#timer = this.#env.timers.after(Math.max(dueMs - this.#env.clock.monotonicMs(), 0), () => {
      this.#timer = null
      this.#isRunning = true
      void this.#run()
    })
  }

  async #run(): Promise<void> {
    const nowMs = this.#env.clock.monotonicMs()
    const due = this.#waiting.filter((removal) => removal.dueMs <= nowMs)
    this.#waiting = this.#waiting.filter((removal) => removal.dueMs > nowMs)
    for (const { path, isTree } of due) {
      if (this.#isStopped) break
      try {
        await (isTree ? this.#env.disk.removeTree(path) : removeIfThere(this.#env.disk, path))
      } catch (error) {
        this.#env.log.warn('A deleted file could not be removed', { path, reason: (error as Error).message })
      }
    }
    this.#isRunning = false
    this.#schedule()
  }

  /** What is still waiting stays on disk under its suffix and goes after the next start. */
  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#timer = null
  }
}

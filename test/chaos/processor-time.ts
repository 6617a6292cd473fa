import { readFileSync } from 'node:fs'

/** Kernel ticks a second, in /proc. */
const TICKS = 100

/** Seconds of processor that a process has had, with those of its threads; null: it is gone. */
function secondsOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name may hold anything, brackets too.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  } catch {
    return null
  }
}

/**
 * Who had how much of the processors while a run went on: nodes, producers and this process share a machine, and what is
 * missing in one of them may be what another took. A process that dies between two looks has had a little more than is counted.
 */
export class ProcessorTime {
  readonly #seen = new Map<number, number>()
  readonly #sums = new Map<string, number>()

  /** To be called every second or so; pids of processes that may change, by what they are called in the report. */
  look(groups: Readonly<Record<string, readonly number[]>>): void {
    for (const [name, pids] of Object.entries(groups)) {
      for (const pid of pids) {
        const now = secondsOf(pid)
        if (now === null) continue
        const before = this.#seen.get(pid) ?? now
        this.#seen.set(pid, now)
        this.#sums.set(name, (this.#sums.get(name) ?? 0) + now - before)
      }
    }
  }

  /** `nodes 0.95, producers 0.61` processors, over so long a run. */
  told(durationMs: number): string {
    return Array.from(this.#sums, ([name, seconds]) => `${name} ${((seconds * 1000) / durationMs).toFixed(2)}`).join(
      ', ',
    )
  }
}

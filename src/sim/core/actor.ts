/** One run of one process, or the scenario itself. What belongs to a dead actor never runs. */
export interface Actor {
  /** Unique within the run; part of the trace. */
  readonly id: number
  readonly name: string
  alive: boolean
  /** A stopped process (SIGSTOP, a long garbage collection) runs nothing before this time. */
  pausedUntilMs: number
}

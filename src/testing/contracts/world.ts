import type { Env } from '../../env/env.ts'

/** One implementation of the world, for a contract suite. */
export interface TestWorld {
  readonly name: string
  /** An address of the process that `env` belongs to, to listen on. */
  readonly host: string
  /**
   * Runs `body` in a fresh world in which `dir` is an empty directory. `other` belongs to another process, where the
   * implementation has more than one.
   */
  run(body: (env: Env, dir: string, other: Env) => Promise<void>): Promise<void>
}

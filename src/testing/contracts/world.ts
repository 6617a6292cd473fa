import type { Env } from '../../env/env.ts'

/**
 * One implementation of the world, for a contract suite: runs `body` in a fresh one, in which `dir` is an empty directory
 * and `host` an address to listen on.
 */
export interface TestWorld {
  readonly name: string
  readonly host: string
  run(body: (env: Env, dir: string) => Promise<void>): Promise<void>
}

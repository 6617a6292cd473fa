import { CONTROLLER_MUTANTS } from './controller.ts'
import { GROUP_MUTANTS } from './groups.ts'
import { IDEMPOTENCE_MUTANTS } from './idempotence.ts'
import { LAG_MUTANTS } from './lag.ts'
import type { Mutant } from './mutant.ts'
import { QUORUM_MUTANTS } from './quorum.ts'
import { REPLICATION_MUTANTS } from './replication.ts'
import { SERVER_MUTANTS } from './server.ts'
import { STORAGE_MUTANTS } from './storage.ts'

export const MUTANTS: readonly Mutant[] = [
  ...QUORUM_MUTANTS,
  ...CONTROLLER_MUTANTS,
  ...REPLICATION_MUTANTS,
  ...STORAGE_MUTANTS,
  ...IDEMPOTENCE_MUTANTS,
  ...GROUP_MUTANTS,
  ...LAG_MUTANTS,
  ...SERVER_MUTANTS,
]

/** Throws when there is none of that name. */
export function mutantNamed(name: string): Mutant {
  const mutant = MUTANTS.find((each) => each.name === name)
  if (mutant === undefined) throw new Error(`no mutant is called '${name}'`)
  return mutant
}

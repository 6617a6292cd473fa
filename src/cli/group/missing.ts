import type { GroupDescription } from '../../client/group-admin.ts'
import { CommandError, ExitCode } from '../exit-code.ts'

/** Whoever asks for a group that does not exist has most likely mistyped its name. */
export function refuseMissing(groups: readonly GroupDescription[]): void {
  const missing = groups.filter(({ state }) => state === 'Dead').map(({ groupId }) => groupId)
  if (missing.length > 0) throw new CommandError(ExitCode.failed, `no such group: ${missing.join(', ')}`)
}

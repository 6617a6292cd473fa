import type { Admin } from '../../client/admin.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted } from '../quantity.ts'
import type { ClusterFlags } from './command.ts'
import { nameOf } from './facts.ts'
import type { Move } from './plan.ts'

/** Lines of a plan for people; programs get all. */
const SHOWN_MAX = 40

/** Shows the plan, and with `--yes` orders it. The copies are made in the background; `cluster reassign` tells how far. */
export async function carryOut(admin: Admin, moves: readonly Move[], flags: ClusterFlags): Promise<void> {
  const lines = moves.slice(0, SHOWN_MAX).map(lineOf)
  if (moves.length > SHOWN_MAX) lines.push(`and ${counted(moves.length - SHOWN_MAX, 'more partition')}`)
  if (moves.length === 0) {
    await print(flags.format, { done: false, moves }, ['nothing has to be moved'])
    return
  }
  if (!flags.yes) {
    await print(flags.format, { done: false, moves }, [...lines, 'nothing was done; add --yes to move them'])
    return
  }
  const results = await admin.cluster.reassign(moves)
  const failed = results.entries().flatMap(([key, error]) => (error === null ? [] : [{ name: nameOf(key), error }]))
  const json = { done: true, moves, errors: failed.map(({ name, error }) => ({ partition: name, error: error.code })) }
  const begun = `${counted(moves.length - failed.length, 'partition')} being moved; \`millrace cluster reassign\` shows how far`
  await print(flags.format, json, [...lines, ...failed.map(({ error }) => error.message), begun])
  if (failed.length > 0) {
    throw new CommandError(ExitCode.failed, `${failed.length} of ${counted(moves.length, 'partition')} cannot be moved`)
  }
}

function lineOf(move: Move): string {
  return `${nameOf(move)}  ${move.from.join(',')} -> ${move.replicas.join(',')}`
}

import type { ListedGroup } from '../../client/group-admin.ts'
import type { Session } from '../connect.ts'
import type { Flags } from './flags.ts'
import { hashOfText, inHashOrder, padded } from './java.ts'
import { out, usage } from './tool.ts'

const STATES = ['Stable', 'CompletingRebalance', 'Dead', 'Empty', 'PreparingRebalance', 'Assigning', 'Reconciling']
const TYPES = ['Consumer', 'Classic']
const GROUP_WIDTH_MIN = 15

/** kafka-consumer-groups --list. */
export async function listGroups({ admin }: Session, flags: Flags): Promise<void> {
  const types = chosen(flags.value('type'), TYPES, 'types')
  const states = chosen(flags.value('state'), STATES, 'state')
  const all = await admin.groups.list()
  const found = all.filter(
    ({ state, type, protocolType }) =>
      (protocolType === 'consumer' || protocolType === '') &&
      (states === null || states.has(state.toLowerCase())) &&
      (types === null || types.has(type.toLowerCase())),
  )
  const groups = inHashOrder(found, ({ groupId }) => hashOfText(groupId))
  const columns = [
    ...(flags.has('type') ? [{ head: 'TYPE', of: ({ type }: ListedGroup) => titled(type) }] : []),
    ...(flags.has('state') ? [{ head: 'STATE', of: ({ state }: ListedGroup) => state }] : []),
  ]
  if (columns.length === 0) return out(groups.map(({ groupId }) => `${groupId}\n`).join(''))
  const longest = Math.max(GROUP_WIDTH_MIN, ...groups.map(({ groupId }) => groupId.length))
  const widths = [longest + 10, ...columns.map(() => 20)]
  const rows = [
    ['GROUP', ...columns.map(({ head }) => head)],
    ...groups.map((group) => [group.groupId, ...columns.map(({ of }) => of(group))]),
  ]
  return out(rows.map((row) => `${padded(widths, row)}\n`).join(''))
}

/** Some servers say `classic`. */
function titled(type: string): string {
  return type.charAt(0).toUpperCase() + type.slice(1).toLowerCase()
}

/** Null: all of them. */
function chosen(text: string | undefined, known: readonly string[], noun: string): Set<string> | null {
  if (text === undefined || text === '') return null
  const words = text.split(',').map((word) => word.trim().toLowerCase())
  const lower = known.map((word) => word.toLowerCase())
  if (words.every((word) => lower.includes(word))) return new Set(words)
  throw usage(`Invalid ${noun} list '${text}'. Valid ${noun === 'state' ? 'states' : noun} are: ${known.join(', ')}`)
}

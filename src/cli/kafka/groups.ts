import type { GroupAdmin } from '../../client/group-admin.ts'
import { BrokerError } from '../../rpc/errors.ts'
import type { Session } from '../connect.ts'
import { FlagError, type FlagKinds, type Flags } from './flags.ts'
import { deleteOffsets, deleteGroups } from './groups-delete.ts'
import { describeGroups } from './groups-describe.ts'
import { listGroups } from './groups-list.ts'
import { resetOffsets, SCENARIOS } from './groups-reset.ts'
import { clientErrorOf, exceptionOf } from './java.ts'
import { clientProperties } from './properties.ts'
import {
  CommandFailure,
  err,
  out,
  refusePairs,
  requireFlags,
  type Tool,
  ToolExit,
  unsupported,
  usage,
  withServers,
} from './tool.ts'

const ACTIONS = ['list', 'describe', 'delete', 'reset-offsets', 'delete-offsets'] as const

const KINDS: FlagKinds = {
  ...Object.fromEntries(ACTIONS.map((name) => [name, 'switch' as const])),
  'all-groups': 'switch',
  'all-topics': 'switch',
  'bootstrap-server': 'value',
  'by-duration': 'value',
  'command-config': 'value',
  'dry-run': 'switch',
  execute: 'switch',
  export: 'switch',
  'from-file': 'value',
  group: 'value',
  members: 'switch',
  offsets: 'switch',
  'shift-by': 'long',
  state: 'optional',
  timeout: 'long',
  'to-current': 'switch',
  'to-datetime': 'value',
  'to-earliest': 'switch',
  'to-latest': 'switch',
  'to-offset': 'long',
  topic: 'value',
  type: 'optional',
  'validate-regex': 'value',
  verbose: 'switch',
}

const ACTIONS_TEXT = '--list, --describe, --delete, --reset-offsets, --delete-offsets, --validate-regex'

/** kafka-consumer-groups. */
export const groupsTool: Tool = {
  kinds: KINDS,
  async run(flags) {
    if (flags.has('validate-regex')) throw unsupported('--validate-regex')
    check(flags)
    clientProperties(flags, { files: ['command-config'], pairs: [], taken: ['client.id'] })
    try {
      const callTimeoutMs = flags.number('timeout') ?? 30_000
      await withServers(flags.value('bootstrap-server') ?? '', { callTimeoutMs }, (session) => act(session, flags))
    } catch (error) {
      if (error instanceof ToolExit) throw error
      const message =
        error instanceof FlagError || error instanceof CommandFailure ? error.message : textOf(clientErrorOf(error))
      // Kafka's tool says what went wrong and ends with 0 all the same.
      await out(`\nError: Executing consumer group command failed due to ${message}\n`)
    }
    return 0
  },
}

function textOf(error: Error): string {
  return error instanceof BrokerError ? exceptionOf(error) : error.message
}

/** Flags that are of some actions only. */
const ONLY_WITH: readonly (readonly [string, readonly string[]])[] = [
  ['members', ['describe']],
  ['offsets', ['describe']],
  ['verbose', ['describe']],
  ['state', ['describe', 'list']],
  ['type', ['list']],
]

function check(flags: Flags): void {
  for (const [flag, actions] of ONLY_WITH) {
    if (flags.has(flag) && !actions.some((action) => flags.has(action)))
      throw new ToolExit(1, 'stderr', `Option(s) [${flag}] are unavailable given other options on the command line`)
  }
  requireFlags(flags, 'bootstrap-server')
  const hasGroups = flags.has('group') || flags.has('all-groups')
  const wantsGroups = (action: string) => usage(`Option [${action}] takes one of these options: [all-groups], [group]`)
  if (flags.has('describe')) {
    if (!hasGroups) throw wantsGroups('describe')
    if (['members', 'offsets', 'state'].filter((name) => flags.has(name)).length > 1)
      throw usage('Option [describe] takes at most one of these options: [members], [offsets], [state]')
    if (flags.value('state') !== undefined) throw usage('Option [describe] does not take a value for [state]')
  }
  if (flags.has('delete')) {
    if (!hasGroups) throw wantsGroups('delete')
    if (flags.has('topic'))
      throw usage('The consumer does not support topic-specific offset deletion from a consumer group.')
  }
  if (flags.has('delete-offsets') && !(flags.has('group') && flags.has('topic')))
    throw usage('Option [delete-offsets] takes the following options: [topic], [group]')
  if (flags.has('reset-offsets')) checkReset(flags, hasGroups ? null : wantsGroups('reset-offsets'))
  refusePairs(flags, 'group', ['all-groups', 'list'])
  refusePairs(flags, 'topic', ['list', 'describe'])
  if (ACTIONS.filter((action) => flags.has(action)).length !== 1)
    throw usage(`Command must include exactly one action: ${ACTIONS_TEXT}`)
}

const NO_EXECUTE =
  'WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are scripting this command and want to keep the current default behavior without prompting.\n'

function checkReset(flags: Flags, noGroups: ToolExit | null): void {
  if (flags.has('dry-run') && flags.has('execute'))
    throw usage('Option [reset-offsets] only accepts one of [execute] and [dry-run]')
  if (!flags.has('dry-run') && !flags.has('execute')) err(NO_EXECUTE)
  if (noGroups !== null) throw noGroups
  for (const scenario of CHECKED_SCENARIOS) refusePairs(flags, scenario, SCENARIOS)
}

/** In the order in which Kafka looks at them. */
const CHECKED_SCENARIOS = [
  'to-offset',
  'to-datetime',
  'by-duration',
  'to-earliest',
  'to-latest',
  'to-current',
  'shift-by',
  'from-file',
]

async function act(session: Session, flags: Flags): Promise<void> {
  if (flags.has('list')) return listGroups(session, flags)
  if (flags.has('describe')) return describeGroups(session, flags, await chosenGroups(session.admin.groups, flags))
  if (flags.has('delete')) return deleteGroups(session, await chosenGroups(session.admin.groups, flags))
  if (flags.has('delete-offsets')) return deleteOffsets(session, flags)
  return resetOffsets(session, flags, await chosenGroups(session.admin.groups, flags))
}

async function chosenGroups(groups: GroupAdmin, flags: Flags): Promise<string[]> {
  if (!flags.has('all-groups')) return flags.values('group')
  return (await groups.list())
    .filter(({ protocolType }) => protocolType === 'consumer' || protocolType === '')
    .map(({ groupId }) => groupId)
}

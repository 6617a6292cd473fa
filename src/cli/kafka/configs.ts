import type { ConfigChange, ConfigResource } from '../../client/admin.ts'
import { BrokerError } from '../../rpc/errors.ts'
import type { Session } from '../connect.ts'
import { describeConfigs } from './configs-describe.ts'
import { type Entity, entityOf } from './configs-entity.ts'
import type { FlagKinds, Flags } from './flags.ts'
import { clientErrorOf, exceptionOf } from './java.ts'
import { clientProperties, readProperties } from './properties.ts'
import { CommandFailure, out, refusePairs, type Tool, ToolExit, unsupported, usage, withServers } from './tool.ts'

const KINDS: FlagKinds = {
  'add-config': 'value',
  'add-config-file': 'value',
  all: 'switch',
  alter: 'switch',
  'bootstrap-controller': 'value',
  'bootstrap-server': 'value',
  broker: 'value',
  'broker-defaults': 'switch',
  'broker-logger': 'value',
  client: 'value',
  'client-defaults': 'switch',
  'client-metrics': 'value',
  'command-config': 'value',
  'delete-config': 'value',
  describe: 'switch',
  'entity-default': 'switch',
  'entity-name': 'value',
  'entity-type': 'value',
  force: 'switch',
  group: 'value',
  ip: 'value',
  'ip-defaults': 'switch',
  topic: 'value',
  user: 'value',
  'user-defaults': 'switch',
}

/** kafka-configs. */
export const configsTool: Tool = {
  kinds: KINDS,
  async run(flags, args) {
    const entity = check(flags)
    clientProperties(flags, { files: ['command-config'], pairs: [], taken: ['client.id'] })
    try {
      await withServers(flags.value('bootstrap-server') ?? '', {}, (session) =>
        flags.has('alter') ? alter(session, flags, entity) : describeConfigs(session, entity, flags.has('all')),
      )
      return 0
    } catch (error) {
      if (error instanceof ToolExit) throw error
      const head = `Error while executing config command with args '${args.join(' ')}'`
      throw new ToolExit(1, 'stderr', `${head}\n${textOf(error)}`)
    }
  },
}

function textOf(error: unknown): string {
  if (error instanceof CommandFailure) return error.message
  const failure = clientErrorOf(error)
  return `java.util.concurrent.ExecutionException: ${failure instanceof BrokerError ? exceptionOf(failure) : failure.message}`
}

function check(flags: Flags): Entity {
  const actions = ['alter', 'describe'].filter((action) => flags.has(action))
  if (actions.length !== 1) throw usage('Command must include exactly one action: --describe, --alter')
  if (flags.has('bootstrap-controller')) throw unsupported('--bootstrap-controller')
  if (!flags.has('bootstrap-server'))
    throw new ToolExit(1, 'stderr', 'Either --bootstrap-server or --bootstrap-controller must be specified.')
  for (const flag of ['alter', 'add-config', 'add-config-file', 'delete-config']) refusePairs(flags, 'describe', [flag])
  const entity = entityOf(flags)
  if (!flags.has('alter')) return entity
  const hasName = entity.name !== null && (entity.name !== '' || entity.type === 'brokers')
  if (!hasName) throw new ToolExit(1, 'stderr', `An entity name must be specified with --alter of ${entity.type}`)
  const hasFile = flags.has('add-config-file')
  if (hasFile && flags.has('add-config'))
    throw new ToolExit(1, 'stderr', 'Only one of --add-config or --add-config-file must be specified')
  if (!hasFile && !flags.has('add-config') && !flags.has('delete-config'))
    throw new ToolExit(
      1,
      'stderr',
      'At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter',
    )
  return entity
}

async function alter({ admin }: Session, flags: Flags, { type, kind, name }: Entity): Promise<void> {
  const added = addedOf(flags)
  const removed = flags.values('delete-config').flatMap((text) => text.split(',').map((key) => key.trim()))
  const resource: ConfigResource = { kind, name: name ?? '' }
  if (kind === 'broker-logger') {
    const [described] = await admin.describeConfigs([resource])
    const known = new Set((described?.configs ?? []).map((entry) => entry.name))
    const unknown = [...removed, ...added.keys()].filter((key) => !known.has(key))
    if (unknown.length > 0) throw new ToolExit(1, 'stderr', `Invalid broker logger(s): ${unknown.join(',')}`)
  }
  const changes: ConfigChange[] = [
    ...[...added].map(([key, value]) => ({ name: key, operation: 'set' as const, value })),
    ...removed.map((key) => ({ name: key, operation: 'delete' as const, value: '' })),
  ]
  await admin.alterConfigs(resource, changes)
  await out(
    name === ''
      ? `Completed updating default config for ${type} in the cluster.\n`
      : `Completed updating config for ${type.slice(0, -1)} ${name}.\n`,
  )
}

/** Commas between settings, but not those in square brackets. */
const OUTSIDE_BRACKETS = '(?=[^\\]]*(?:\\[|$))'
const NOT_PAIRS =
  'Invalid entity config: all configs to be added must be in the format "key=val" or  "key=[val1,val2]" to group values which contain commas.'

function addedOf(flags: Flags): Map<string, string> {
  const file = flags.value('add-config-file')
  if (file !== undefined) return readProperties(file)
  const text = flags.value('add-config')
  if (text === undefined) return new Map()
  const pairs = text
    .split(new RegExp(`,${OUTSIDE_BRACKETS}`))
    .map((pair) => pair.split(new RegExp(`\\s*=\\s*${OUTSIDE_BRACKETS}`)))
  if (pairs.some((pair) => pair.length !== 2)) throw new ToolExit(1, 'stderr', NOT_PAIRS)
  return new Map(pairs.map(([key = '', value = '']) => [key.trim(), value.replaceAll(/[[\]]/g, '').trim()]))
}

import type { ConfigResourceKind } from '../../client/admin.ts'
import type { Flags } from './flags.ts'
import { ToolExit, unsupported } from './tool.ts'

/** Whose settings. */
export interface Entity {
  /** As Kafka calls the kind in the plural: `topics`. */
  readonly type: string
  readonly kind: ConfigResourceKind
  /** Empty: the default of all; null: every one of its kind. */
  readonly name: string | null
}

/** The plural, in the order in which Kafka names them; null: it needs quotas. */
const KINDS: Readonly<Record<string, ConfigResourceKind | null>> = {
  'broker-loggers': 'broker-logger',
  topics: 'topic',
  clients: null,
  users: null,
  brokers: 'broker',
  ips: null,
  'client-metrics': 'client-metrics',
  groups: 'group',
}

const SHORT: Readonly<Record<string, string>> = {
  topic: 'topics',
  broker: 'brokers',
  'broker-logger': 'broker-loggers',
  'client-metrics': 'client-metrics',
  group: 'groups',
  client: 'clients',
  user: 'users',
  ip: 'ips',
}

const DEFAULTS: Readonly<Record<string, string>> = {
  'broker-defaults': 'brokers',
  'client-defaults': 'clients',
  'user-defaults': 'users',
  'ip-defaults': 'ips',
}

/** From `--topic orders` as from `--entity-type topics --entity-name orders`. Throws `ToolExit`. */
export function entityOf(flags: Flags): Entity {
  const short = Object.entries(SHORT).filter(([flag]) => flags.has(flag))
  const defaults = Object.entries(DEFAULTS).filter(([flag]) => flags.has(flag))
  const types = [...flags.values('entity-type'), ...short.map(([, type]) => type), ...defaults.map(([, type]) => type)]
  const doubled = types.filter((type, index) => types.indexOf(type) !== index)
  if (doubled.length > 0) throw refuse(`Duplicate entity type(s) specified: ${[...new Set(doubled)].join(',')}`)
  const [type] = types
  if (type === undefined) throw refuse('At least one entity type must be specified')
  if (!Object.hasOwn(KINDS, type)) throw refuse(unknownType(type))
  if (types.length > 1 && !types.every((each) => each === 'users' || each === 'clients'))
    throw refuse("Only 'users' and 'clients' entity types may be specified together")
  const kind = KINDS[type]
  if (kind === null || kind === undefined) throw unsupported(`settings of ${type} (quotas, credentials)`)
  const name = nameOf(flags, short[0]?.[0], defaults.length > 0)
  checkName(type, name)
  return { type, kind, name }
}

function nameOf(flags: Flags, short: string | undefined, isDefault: boolean): string | null {
  if (isDefault || flags.has('entity-default')) return ''
  return flags.value(short ?? 'entity-name') ?? null
}

function checkName(type: string, name: string | null): void {
  const isOfBroker = type === 'brokers' || type === 'broker-loggers'
  if (!isOfBroker || name === null || name === '' || /^[+-]?\d{1,9}$/.test(name)) return
  throw refuse(`The entity name for ${type} must be a valid integer broker id, but it is: ${name}`)
}

function unknownType(type: string): string {
  const known = Object.keys(KINDS).join(', ')
  return `Invalid entity type ${type}, the entity type must be one of ${known} with a --bootstrap-server or --bootstrap-controller argument`
}

function refuse(message: string): ToolExit {
  return new ToolExit(1, 'stderr', message)
}

import type { ConfigEntry, ConfigResource } from '../../client/admin.ts'
import type { ConfigDef } from '../../controller/config-def.ts'
import { brokerConfigDef, brokerConfigs, groupConfigs, topicConfigs } from '../../controller/config-defs.ts'
import { topicSynonyms } from '../../controller/config-topic.ts'
import { likelyNames } from '../../controller/nearest-name.ts'
import { processConfigs } from '../../server/config/settings.ts'
import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import type { ExplainConfigFlags } from './command.ts'

const SCOPES = [
  { scope: 'topic', defs: topicConfigs },
  { scope: 'node', defs: new Map([...brokerConfigs, ...processConfigs]) },
  { scope: 'group', defs: groupConfigs },
] as const
type Scope = (typeof SCOPES)[number]['scope']

const CHANGES: Readonly<Record<ConfigDef['update'], string>> = {
  'read-only': 'at a start of the node only',
  'per-broker': 'while the node runs, for one node or for all',
  'cluster-wide': 'while the nodes run, for all of them together',
}

export async function explainConfig(key: string, flags: ExplainConfigFlags): Promise<void> {
  const found = SCOPES.flatMap(({ scope, defs }) => {
    // Keys of one listener (listener.name.NAME.…) are made from those of all.
    const def = defs.get(key) ?? (scope === 'node' ? brokerConfigDef(key) : undefined)
    return def === undefined ? [] : [{ scope, def }]
  })
  if (found.length === 0)
    throw new CommandError(ExitCode.failed, `there is no setting ${key.slice(0, 100)}${hint(key)}`)
  const effective = await effectiveValue(key, flags)
  const json = { name: key, definitions: found.map(({ scope, def }) => jsonOf(scope, def)), effective }
  const lines = found.flatMap(({ scope, def }) => linesOf(scope, def))
  await print(flags.format, json, [...lines, ...(effective === null ? [] : chainOf(effective))])
}

function hint(key: string): string {
  const likely = likelyNames(key, new Set(SCOPES.flatMap(({ defs }) => [...defs.keys()])))
  return likely === null ? '' : `; did you mean ${likely}?`
}

function jsonOf(scope: Scope, def: ConfigDef) {
  const { type, default: usual, doc, atLeast, atMost, oneOf, update, ignored } = def
  const inherits = inheritedFrom(scope, def)
  return {
    scope,
    doc,
    type,
    default: usual,
    atLeast,
    atMost,
    oneOf,
    update: scope === 'node' ? update : undefined,
    inherits,
    ignored,
  }
}

/** The keys of nodes from which a topic has its value where it has none of its own. */
function inheritedFrom(scope: Scope, { name }: ConfigDef): string[] {
  return scope === 'topic' ? (topicSynonyms.get(name) ?? []).map((each) => each.name) : []
}

function linesOf(scope: Scope, def: ConfigDef): string[] {
  const inherits = inheritedFrom(scope, def)
  return [
    `${def.name} of a ${scope}: ${def.doc}`,
    `  ${def.type}, ${rangeOf(def)}default ${def.default === null || def.default === '' ? 'none' : def.default}`,
    ...(inherits.length > 0 ? [`  not set on the topic, it is the node's ${inherits.join(', else ')}`] : []),
    ...(scope === 'node' ? [`  can be changed ${CHANGES[def.update]}`] : []),
    ...(def.ignored === undefined ? [] : ['  accepted, and without effect here']),
  ]
}

function rangeOf({ atLeast, atMost, orElse, oneOf }: ConfigDef): string {
  if (oneOf !== undefined) return `one of ${oneOf.join(', ')}; `
  const low = atLeast === undefined ? '' : `from ${atLeast} `
  const high = atMost === undefined ? '' : `to ${atMost} `
  const other = orElse === undefined ? '' : `or ${orElse} `
  return low + high + other === '' ? '' : `${(low + high + other).trimEnd()}, `
}

interface Effective {
  readonly of: string
  readonly value: string | null
  readonly source: string
  readonly behind: ConfigEntry['synonyms']
}

/** Null where nobody asked for it. */
async function effectiveValue(key: string, flags: ExplainConfigFlags): Promise<Effective | null> {
  const resource = resourceOf(flags)
  if (resource === null) return null
  return withCluster(flags, async ({ admin }) => {
    const [described] = await admin.describeConfigs([resource])
    const of = `${resource.kind === 'broker' ? 'node' : 'topic'} ${resource.name}`
    const entry = described?.configs.find(({ name }) => name === key)
    if (entry === undefined) throw new CommandError(ExitCode.failed, `${of} has no setting ${key}`)
    return { of, value: entry.value, source: entry.source, behind: entry.synonyms }
  })
}

function resourceOf({ topic, node }: ExplainConfigFlags): ConfigResource | null {
  if (topic !== undefined && node !== undefined) throw new CommandError(ExitCode.usage, '--topic or --node, not both')
  if (topic !== undefined) return { kind: 'topic', name: topic }
  return node === undefined ? null : { kind: 'broker', name: node }
}

/** The value, and under it what would hold if it were not set, strongest first. */
function chainOf({ of, value, source, behind }: Effective): string[] {
  const shown = (text: string | null) => text ?? '(hidden)'
  return [
    `${of}: ${shown(value)} (${source})`,
    ...behind.map((each) => `  ${each.source}: ${each.name}=${shown(each.value)}`),
  ]
}

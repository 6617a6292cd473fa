import { parseConfig } from './config-def.ts'
import { brokerConfigDef, brokerConfigs } from './config-defs.ts'
import { likelyNames } from './nearest-name.ts'

export interface ConfigProblem {
  readonly name: string
  /** For the user: names the value and what is allowed, or the nearest name. */
  readonly message: string
}

export interface StaticConfig {
  /** Values in their normal form, by key. What was not given is not here. */
  readonly values: ReadonlyMap<string, string>
  readonly problems: readonly ConfigProblem[]
  /** Keys that were given, are known, and change nothing here: to be listed once. */
  readonly ignored: readonly string[]
}

/**
 * Checks a broker's own config, as it came from flags, environment and file. With problems the node must not start.
 * `alsoKnown` are keys that belong to someone else and pass as they are.
 */
export function parseStaticConfig(given: ReadonlyMap<string, string>, alsoKnown: readonly string[] = []): StaticConfig {
  const values = new Map<string, string>()
  const problems: ConfigProblem[] = []
  const ignored: string[] = []
  for (const [name, text] of given) {
    const def = brokerConfigDef(name)
    if (alsoKnown.includes(name)) values.set(name, text)
    else if (def === undefined) problems.push({ name, message: unknownKey(name, alsoKnown) })
    else if (def.dynamicOnly) problems.push({ name, message: `${name} can only be set while the broker runs.` })
    else {
      const parsed = parseConfig({ ...def, name }, text)
      if ('error' in parsed) problems.push({ name, message: parsed.error })
      else values.set(name, parsed.value)
      if (def.ignored !== undefined) ignored.push(name)
    }
  }
  sameNode(values, problems)
  return { values, problems, ignored }
}

function unknownKey(name: string, alsoKnown: readonly string[]): string {
  const likely = likelyNames(name, [...brokerConfigs.keys(), ...alsoKnown])
  return `Unknown config ${name}.${likely === null ? '' : ` Did you mean ${likely}?`}`
}

/** `broker.id` is the older name of `node.id`: each stands for the other. */
function sameNode(values: Map<string, string>, problems: ConfigProblem[]): void {
  const nodeId = values.get('node.id') ?? values.get('broker.id')
  if (nodeId === undefined) return
  if (values.get('broker.id') !== undefined && values.get('broker.id') !== nodeId) {
    problems.push({ name: 'broker.id', message: `broker.id ${values.get('broker.id')} and node.id ${nodeId} differ.` })
  }
  values.set('node.id', nodeId)
  values.set('broker.id', nodeId)
}

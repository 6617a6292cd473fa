/** A key with its value as text. */
export interface FlatSetting {
  readonly key: string
  readonly value: string
}

const DEPTH_MAX = 16

/**
 * The settings of a parsed YAML document: names as in server.properties, whole (`log.retention.ms: 1000`) or as nested
 * maps (`log: { retention: { ms: 1000 } }`); a list stands for a comma-separated value. A text says what is wrong.
 */
export function flattenYaml(document: unknown): FlatSetting[] | string {
  if (document === null || document === undefined) return []
  if (!isMap(document)) return 'the file must hold a map of settings'
  const found: FlatSetting[] = []
  const problem = flatten(document, '', found, 0)
  return problem ?? found
}

function flatten(map: Record<string, unknown>, prefix: string, found: FlatSetting[], depth: number): string | null {
  if (depth > DEPTH_MAX) return `${prefix} is nested too deep`
  for (const [name, value] of Object.entries(map)) {
    const key = prefix === '' ? name : `${prefix}.${name}`
    if (isMap(value)) {
      const problem = flatten(value, key, found, depth + 1)
      if (problem !== null) return problem
    } else if (Array.isArray(value)) {
      if (value.some((element) => isMap(element) || Array.isArray(element)))
        return `${key} must be a list of plain values`
      found.push({ key, value: value.map(String).join(',') })
    } else {
      found.push({ key, value: value === null ? '' : String(value) })
    }
  }
  return null
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

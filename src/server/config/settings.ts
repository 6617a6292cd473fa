import { type ConfigDef, config, isSensitive } from '../../controller/config-def.ts'
import { brokerConfigDef, brokerConfigs } from '../../controller/config-defs.ts'
import { parseStaticConfig } from '../../controller/static-config.ts'

/** Where a value was written, most important first. */
const ORIGINS = ['flag', 'environment', 'file'] as const
export type Origin = (typeof ORIGINS)[number]

/** One value as somebody wrote it. `where` names the flag, the variable, or file and line, for messages. */
export interface Setting {
  readonly key: string
  readonly value: string
  readonly origin: Origin
  readonly where: string
}

/** Keys of ours that belong to the process and not to the broker, with their defaults: no client ever sees them. */
export const processConfigs: ReadonlyMap<string, ConfigDef> = new Map(
  [
    config(
      'string',
      'http.listen',
      '127.0.0.1:9644',
      'Where metrics and health are served, as host:port; "off" for nowhere. Also --http.',
    ),
    config(
      'string',
      'join',
      '',
      'Nodes of the cluster that this one is to become a member of, as host:port with commas; any listener of any node. Also --join.',
    ),
  ].map((def) => [def.name, def]),
)

/** The values of a node's own configuration: what was set, and defaults for the rest. Immutable. */
export class Settings {
  /** What somebody set, in normal form. */
  readonly values: ReadonlyMap<string, string>
  readonly #where: ReadonlyMap<string, string>

  constructor(values: ReadonlyMap<string, string>, where: ReadonlyMap<string, string>) {
    this.values = values
    this.#where = where
  }

  /** Those of them that are the broker's, and no business of this process alone. */
  get brokerValues(): ReadonlyMap<string, string> {
    return new Map([...this.values].filter(([key]) => !processConfigs.has(key)))
  }

  isSet(key: string): boolean {
    return this.values.has(key)
  }

  /** Null where neither a value nor a default exists. */
  text(key: string): string | null {
    return this.values.get(key) ?? brokerConfigDef(key)?.default ?? processConfigs.get(key)?.default ?? null
  }

  number(key: string): number {
    return Number(this.text(key))
  }

  boolean(key: string): boolean {
    return this.text(key) === 'true'
  }

  list(key: string): readonly string[] {
    return (this.text(key) ?? '').split(',').filter((element) => element !== '')
  }

  /** Where the value was set. */
  where(key: string): string {
    return this.#where.get(key) ?? 'default'
  }

  /** `key=value (where)`, for messages; a password is not shown. */
  describe(key: string): string {
    const def = brokerConfigs.get(key)
    const shown = def !== undefined && isSensitive(def) ? '[hidden]' : (this.text(key) ?? '')
    return `${key}=${shown} (${this.where(key)})`
  }
}

export interface Resolved {
  readonly settings: Settings
  /** Keys that were set and change nothing here; told once at the start. */
  readonly ignored: readonly string[]
  /** Why the configuration is refused; empty when it is not. Each names key, value, limit and place. */
  readonly errors: readonly string[]
}

/** Flags win over the environment, that over the file; within one of them the last value of a key wins. */
export function resolveSettings(settings: readonly Setting[]): Resolved {
  const winners = new Map<string, Setting>()
  for (const setting of settings) {
    const before = winners.get(setting.key)
    if (before === undefined || ORIGINS.indexOf(setting.origin) <= ORIGINS.indexOf(before.origin)) {
      winners.set(setting.key, setting)
    }
  }
  const given = new Map([...winners].map(([key, { value }]) => [key, value]))
  const where = new Map([...winners].map(([key, setting]) => [key, setting.where]))
  const { values, problems, ignored } = parseStaticConfig(given, [...processConfigs.keys()])
  return {
    settings: new Settings(values, where),
    ignored: [...ignored].sort(),
    errors: problems.map(({ name, message }) => `${message} (${where.get(name) ?? 'default'})`),
  }
}

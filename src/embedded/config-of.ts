import { type NodeConfig, nodeConfig } from '../server/config/node-config.ts'
import { resolveSettings } from '../server/config/settings.ts'

/** The configuration of an embedded node, without HTTP. Throws a `RangeError` that names all that is wrong. */
export function configOf(values: Readonly<Record<string, string>>): NodeConfig {
  const all = Object.entries({ 'http.listen': 'off', ...values })
  const flags = all.map(([key, value]) => ({ key, value, origin: 'flag', where: 'settings' }) as const)
  const { settings, errors } = resolveSettings(flags)
  const { config, errors: wrong } = nodeConfig(settings)
  const problems = [...errors, ...wrong]
  if (problems.length > 0) throw new RangeError(problems.join('\n'))
  return config
}

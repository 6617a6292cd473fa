import { assert } from '../../base/assert.ts'
import { type NodeConfig, nodeConfig } from '../../server/config/node-config.ts'
import { resolveSettings, type Setting } from '../../server/config/settings.ts'

export const CLIENT_PORT = 9092
export const CONTROLLER_PORT = 9093
export const DATA_FOLDER = '/data'

/** The configuration of a simulated node, from what a scenario sets. */
export function simNodeConfig(nodeId: number, settings: Readonly<Record<string, string>>): NodeConfig {
  const values: Record<string, string> = {
    'node.id': String(nodeId),
    listeners: `PLAINTEXT://:${CLIENT_PORT},CONTROLLER://:${CONTROLLER_PORT}`,
    'controller.listener.names': 'CONTROLLER',
    'http.listen': 'off',
    'log.dirs': DATA_FOLDER,
    ...settings,
  }
  const given = Object.entries(values).map(
    ([key, value]): Setting => ({ key, value, origin: 'flag', where: 'scenario' }),
  )
  const { settings: resolved, errors } = resolveSettings(given)
  assert(errors.length === 0, errors.join(', '))
  const { config, errors: wrong } = nodeConfig(resolved)
  assert(wrong.length === 0, wrong.join(', '))
  return config
}

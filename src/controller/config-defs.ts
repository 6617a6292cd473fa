import type { ConfigDef } from './config-def.ts'
import { groupsConfigDefs } from './config-broker-groups.ts'
import { logConfigDefs } from './config-broker-log.ts'
import { networkConfigDefs } from './config-broker-network.ts'
import { nodeConfigDefs } from './config-broker-node.ts'
import { remoteConfigDefs } from './config-broker-remote.ts'
import { securityConfigDefs } from './config-broker-security.ts'
import { sharesConfigDefs } from './config-broker-shares.ts'
import { clientMetricsConfigDefs, groupConfigDefs } from './config-group.ts'
import { topicConfigDefs } from './config-topic.ts'

type Table = ReadonlyMap<string, ConfigDef>

const table = (...lists: (readonly ConfigDef[])[]): Table =>
  new Map(
    lists
      .flat()
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((def) => [def.name, def]),
  )

/** Every config key of Kafka 4.4.0 and ours, by name, sorted. */
export const topicConfigs: Table = table(topicConfigDefs)
export const groupConfigs: Table = table(groupConfigDefs)
export const clientMetricsConfigs: Table = table(clientMetricsConfigDefs)
export const brokerConfigs: Table = table(
  groupsConfigDefs,
  logConfigDefs,
  networkConfigDefs,
  nodeConfigDefs,
  remoteConfigDefs,
  securityConfigDefs,
  sharesConfigDefs,
)

/**
 * The definition of a broker key. A key may be given for one listener, `listener.name.<listener>.<key>`, or for one
 * SASL mechanism of it, `listener.name.<listener>.<mechanism>.<key>`; it then has the definition of its last part.
 */
export function brokerConfigDef(name: string): ConfigDef | undefined {
  const own = brokerConfigs.get(name)
  if (own !== undefined) return own
  const base = listenerConfigBase(name)
  return base === null ? undefined : (brokerConfigs.get(base) ?? brokerConfigs.get(base.slice(base.indexOf('.') + 1)))
}

/** What follows `listener.name.<listener>.`, or null for a key of no listener. */
export function listenerConfigBase(name: string): string | null {
  return /^listener\.name\.[^.]+\.(.+)$/.exec(name)?.[1] ?? null
}

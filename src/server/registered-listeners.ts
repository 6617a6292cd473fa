import type { Address } from '../env/net.ts'
import type { BrokerLifecycleOptions } from '../quorum/broker-lifecycle.ts'
import type { NodeConfig } from './config/node-config.ts'

const PLAINTEXT = 0
const ALL_INTERFACES = new Set(['', '0.0.0.0', '::'])

/** The host by which others reach a bound address: that of the machine where every interface was bound. */
export function reachableHost(boundHost: string, hostName: string): string {
  return ALL_INTERFACES.has(boundHost) ? hostName : boundHost
}

/** What the controller is told about this node's listeners, and tells to all. */
export function registeredListeners(
  { advertised }: NodeConfig,
  listeners: readonly { readonly name: string; readonly bound: Address }[],
  hostName: string,
): BrokerLifecycleOptions['listeners'] {
  return listeners.map(({ name, bound }) => {
    const told = advertised.get(name) ?? { host: reachableHost(bound.host, hostName), port: bound.port }
    return { name, host: told.host, port: told.port, securityProtocol: PLAINTEXT }
  })
}

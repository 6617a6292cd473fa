import type { Address } from '../env/net.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { Endpoint } from '../raft/types.ts'
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

/** Where other nodes reach this controller; nowhere when it is none. */
export function controllerEndpoints(
  { advertised, controllerListener: { name } }: NodeConfig,
  bound: Address | null,
  hostName: string,
): readonly Endpoint[] {
  if (bound === null) return []
  const told = advertised.get(name) ?? { host: reachableHost(bound.host, hostName), port: bound.port }
  return [{ name, host: told.host, port: told.port }]
}

/** Where a broker is reached by another one: by the listener of that name, or the only one it has. Null when it is not known. */
export function addressOfBroker(image: MetadataImage, brokerId: number, listener: string): Address | null {
  const { endpoints = [] } = image.broker(brokerId) ?? {}
  const endpoint = endpoints.length === 1 ? endpoints[0] : endpoints.find(({ name }) => name === listener)
  return endpoint === undefined ? null : { host: endpoint.host, port: endpoint.port }
}

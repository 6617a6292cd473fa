import { type BrokerContext, brokerConfig, brokerNumber, isBrokerConfigSet } from '../controller/config-view.ts'
import { listOf } from '../controller/config-def.ts'
import { perIpOverrides } from '../controller/per-ip-overrides.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { ConnectionLimits } from './connections/limits.ts'

/** The limits of connections with what was changed at run time. `own`: by the node's own settings. */
export function limitsUnder(own: ConnectionLimits, image: MetadataImage, broker: BrokerContext): ConnectionLimits {
  const number = (key: string) => brokerNumber(image, broker, key)
  // Our default is lower than Kafka's.
  const isMaxSet = isBrokerConfigSet(image, broker, 'max.connections')
  return {
    ...own,
    connectionsMax: isMaxSet ? number('max.connections') : own.connectionsMax,
    connectionsPerIpMax: number('max.connections.per.ip'),
    connectionsPerIpOverrides: perIpOverrides(
      listOf(brokerConfig(image, broker, 'max.connections.per.ip.overrides') ?? ''),
    ).overrides,
    connectionsPerSecondMax: number('max.connection.creation.rate'),
  }
}

import type { Address } from '../../env/net.ts'
import { formatAddress } from '../../server/config/listeners.ts'
import type { NodeConfig } from '../../server/config/node-config.ts'
import { nodeFolderName } from '../../storage/file-names.ts'
import type { StartFlags } from './command.ts'

/** One of the nodes that `--nodes` runs on this host. */
export interface NodePlan {
  /** `node-1`: its folder's name, and what stands before its output. */
  readonly name: string
  readonly dataFolder: string
  readonly clients: Address
  /** `millrace start` arguments. */
  readonly args: readonly string[]
}

/** From one node's ports to the next one's. Kafka's own examples leave such gaps, and a node needs three ports. */
const PORT_STEP = 10

/**
 * `count` nodes out of the configuration of one: each with a folder of its own in the data folder, every port 10 above
 * that of the node before it, zones in turn. `config` is what flags, environment and file say of the first.
 */
export function planNodes(count: number, flags: StartFlags, config: NodeConfig): NodePlan[] {
  const zones = (config.zone ?? '').split(',').map((zone) => zone.trim())
  const clients = Array.from({ length: count }, (_, index) => shifted(config.listeners[0] as Address, index))
  return clients.map((own, index) => {
    const name = nodeFolderName(index + 1)
    const dataFolder = `${config.dataFolder}/${name}`
    const zone = zones[index % zones.length] ?? ''
    const join =
      flags.join ??
      clients
        .filter((each) => each !== own)
        .map(formatAddress)
        .join(',')
    const args = [
      ...commonArgs(flags),
      ...['--data', dataFolder],
      ...['-o', `listeners=${listenersOf(config, index)}`],
      ...['--http', config.http === null ? 'off' : formatAddress(shifted(config.http, index))],
      ...(config.advertised.size === 0 ? [] : ['-o', `advertised.listeners=${advertisedOf(config, index)}`]),
      ...(zone === '' ? [] : ['--zone', zone]),
      ...(config.given.nodeId === null ? [] : ['--node-id', String(config.given.nodeId + index)]),
      ...(join === '' ? [] : ['--join', join]),
    ]
    return { name, dataFolder, clients: own, args }
  })
}

/** The first of a new cluster has nobody to join; one that was there before knows its cluster. */
export function withoutJoin(args: readonly string[]): readonly string[] {
  const at = args.indexOf('--join')
  return at < 0 ? args : args.toSpliced(at, 2)
}

/** What holds for all of them as it was given. */
function commonArgs({ config, option = [], logLevel, roles }: StartFlags): string[] {
  return [
    ...(config === undefined ? [] : ['--config', config]),
    ...option.flatMap((text) => ['-o', text]),
    ...(logLevel === undefined ? [] : ['--log-level', logLevel]),
    ...(roles === undefined ? [] : ['--roles', roles]),
  ]
}

function listenersOf({ listeners, controllerListener }: NodeConfig, index: number): string {
  return [...listeners, controllerListener]
    .map((each) => `${each.name}://${formatAddress(shifted(each, index))}`)
    .join(',')
}

function advertisedOf({ advertised }: NodeConfig, index: number): string {
  return [...advertised].map(([name, address]) => `${name}://${formatAddress(shifted(address, index))}`).join(',')
}

/** Port 0, any free one, stays what it is. */
function shifted({ host, port }: Address, index: number): Address {
  return { host, port: port === 0 ? 0 : port + index * PORT_STEP }
}

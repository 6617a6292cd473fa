import { perIpOverrides } from '../../controller/per-ip-overrides.ts'
import type { Address } from '../../env/net.ts'
import { DEFAULT_LIMITS, type ConnectionLimits } from '../connections/limits.ts'
import { formatAddress, type ListenerConfig, parseHostPort, parseListeners, SECURITY_PROTOCOLS } from './listeners.ts'
import {
  ALONE,
  DEFAULT_NODE_ID,
  formsCluster,
  type GivenMembership,
  givenMembership,
  type Membership,
} from './membership-config.ts'
import type { Settings } from './settings.ts'

/** What a node needs to know before it starts, checked. */
export interface NodeConfig {
  readonly settings: Settings
  /** The static broker configuration, as clients see it: what was set, and what this node is without having been told. */
  readonly brokerValues: ReadonlyMap<string, string>
  readonly nodeId: number
  /** What was said of its place in a cluster, and what that comes to: see `resolveMembership`. */
  readonly given: GivenMembership
  readonly membership: Membership
  readonly dataFolder: string
  readonly zone: string | null
  /** For clients and other brokers; at least one where there is a broker. */
  readonly listeners: readonly ListenerConfig[]
  /** Of the quorum. Where there is no controller only its name is used. */
  readonly controllerListener: ListenerConfig
  /** By listener name; a listener that is not here answers with the address each client used. */
  readonly advertised: ReadonlyMap<string, Address>
  readonly interBrokerListener: string
  /** Null: no HTTP. */
  readonly http: Address | null
  readonly limits: ConnectionLimits
}

export const DEFAULT_DATA_FOLDER = './millrace-data'
const DEFAULT_LISTENERS = 'PLAINTEXT://127.0.0.1:9092'
const DEFAULT_CONTROLLER = { name: 'CONTROLLER', host: '127.0.0.1', port: 9093 }

/** Reads the settings of the node itself. `errors` says everything that is wrong, each with key and value. */
export function nodeConfig(settings: Settings): { config: NodeConfig; errors: readonly string[] } {
  const errors: string[] = []
  const controllerNames = settings.list('controller.listener.names').map((name) => name.toUpperCase())
  const listeners = listenersOf(
    settings,
    'listeners',
    settings.isSet('listeners') ? (settings.text('listeners') as string) : DEFAULT_LISTENERS,
    errors,
  )
  const isController = ({ name }: ListenerConfig) =>
    controllerNames.length === 0 ? name === DEFAULT_CONTROLLER.name : controllerNames.includes(name)
  const clientListeners = listeners.filter((listener) => !isController(listener))
  const advertised = new Map<string, Address>()
  for (const { name, host, port } of listenersOf(
    settings,
    'advertised.listeners',
    settings.text('advertised.listeners') ?? '',
    errors,
  )) {
    if (host === '' || host === '0.0.0.0' || host === '::') {
      errors.push(`${settings.describe('advertised.listeners')}: no client can connect to '${host}'`)
    } else if (!listeners.some((listener) => listener.name === name)) {
      errors.push(`${settings.describe('advertised.listeners')} names ${name}, which is not in listeners`)
    }
    advertised.set(name, { host, port })
  }
  checkOrder(settings, errors)
  checkProtocols(settings, listeners, errors)
  const dataFolder = dataFolderOf(settings, errors)
  const controllerListener = listeners.find(isController) ?? {
    ...DEFAULT_CONTROLLER,
    name: controllerNames[0] ?? DEFAULT_CONTROLLER.name,
  }
  const given = givenMembership(settings, [controllerListener, ...clientListeners, ...advertised.values()], errors)
  if (clientListeners.length === 0 && given.roles?.includes('broker') !== false) {
    errors.push(`${settings.describe('listeners')} names no listener for clients`)
  }
  const nodeId = given.nodeId ?? DEFAULT_NODE_ID
  const membership = { ...ALONE, roles: given.roles ?? ALONE.roles, forms: formsCluster(given) }
  const config: NodeConfig = {
    settings,
    brokerValues: new Map([
      ...ownValues(nodeId, membership),
      ['log.dirs', dataFolder],
      ['listeners', [...clientListeners, controllerListener].map(printListener).join(',')],
      ['controller.listener.names', controllerListener.name],
      ...settings.brokerValues,
    ]),
    nodeId,
    given,
    membership,
    dataFolder,
    zone: zoneOf(settings, errors),
    listeners: clientListeners,
    controllerListener,
    advertised,
    interBrokerListener: interBrokerListenerOf(settings, clientListeners, errors),
    http: httpOf(settings, errors),
    limits: limitsOf(settings, errors),
  }
  return { config, errors }
}

function printListener({ name, host, port }: ListenerConfig): string {
  return `${name}://${formatAddress({ host, port })}`
}

function listenersOf(settings: Settings, key: string, value: string, errors: string[]): ListenerConfig[] {
  const parsed = parseListeners(key, value)
  if (typeof parsed !== 'string') return parsed
  errors.push(`${parsed} (${settings.where(key)})`)
  return []
}

/** What clients see of the node's place, without having been told it. */
function ownValues(nodeId: number, { roles }: Membership): [string, string][] {
  return [
    ['node.id', String(nodeId)],
    ['broker.id', String(nodeId)],
    ['process.roles', roles.join(',')],
  ]
}

/** The configuration of a node whose place in its cluster has been found out. */
export function placed(config: NodeConfig, nodeId: number, membership: Membership): NodeConfig {
  const brokerValues = new Map([...config.brokerValues, ...ownValues(nodeId, membership)])
  return { ...config, nodeId, membership, brokerValues }
}

/** It stands in lists and logs, between others. */
function zoneOf(settings: Settings, errors: string[]): string | null {
  const zone = settings.text('broker.rack')
  if (zone !== null && /\p{Cc}/u.test(zone)) {
    errors.push(`${settings.describe('broker.rack')}: the name of a zone holds no control characters`)
  }
  return zone
}

function dataFolderOf(settings: Settings, errors: string[]): string {
  const key = settings.isSet('log.dirs') ? 'log.dirs' : 'log.dir'
  const folders = settings.isSet(key) ? settings.list(key) : [DEFAULT_DATA_FOLDER]
  if (folders.length > 1) {
    errors.push(`${settings.describe(key)}: a node keeps one data folder; run one node for each disk`)
  }
  const folder = folders[0] ?? DEFAULT_DATA_FOLDER
  const metadataFolder = settings.text('metadata.log.dir')
  if (metadataFolder !== null && metadataFolder !== folder) {
    errors.push(`${settings.describe('metadata.log.dir')}: the metadata log lies in the data folder, ${folder}`)
  }
  return folder
}

/** Pairs of which the second must be larger, or nothing would work: [key, key, may they be equal]. */
const ORDERED = [
  ['broker.heartbeat.interval.ms', 'broker.session.timeout.ms', false],
  ['group.min.session.timeout.ms', 'group.max.session.timeout.ms', true],
] as const

function checkOrder(settings: Settings, errors: string[]): void {
  for (const [low, high, mayBeEqual] of ORDERED) {
    const difference = settings.number(high) - settings.number(low)
    if (difference > 0 || (mayBeEqual && difference === 0)) continue
    errors.push(`${settings.describe(high)} must be ${mayBeEqual ? 'at least' : 'more than'} ${settings.describe(low)}`)
  }
  const queuedBytes = settings.number('queued.max.request.bytes')
  if (queuedBytes > 0 && queuedBytes < settings.number('socket.request.max.bytes')) {
    const [queued, request] = ['queued.max.request.bytes', 'socket.request.max.bytes'].map((key) =>
      settings.describe(key),
    )
    errors.push(`${queued} must be at least ${request}: else a request of that size could never be read`)
  }
}

function checkProtocols(settings: Settings, listeners: readonly ListenerConfig[], errors: string[]): void {
  const map = new Map<string, string>()
  for (const pair of settings.list('listener.security.protocol.map')) {
    const at = pair.lastIndexOf(':')
    const protocol = pair.slice(at + 1).toUpperCase()
    if (at < 1 || !(SECURITY_PROTOCOLS as readonly string[]).includes(protocol)) {
      errors.push(`${settings.describe('listener.security.protocol.map')}: '${pair}' is not NAME:PROTOCOL`)
      continue
    }
    map.set(pair.slice(0, at).trim().toUpperCase(), protocol)
  }
  for (const { name } of listeners) {
    const protocol = map.get(name) ?? ((SECURITY_PROTOCOLS as readonly string[]).includes(name) ? name : 'PLAINTEXT')
    if (protocol !== 'PLAINTEXT') errors.push(`listener ${name}: ${protocol} is not served by this version`)
  }
}

function interBrokerListenerOf(settings: Settings, listeners: readonly ListenerConfig[], errors: string[]): string {
  const first = listeners[0]?.name ?? 'PLAINTEXT'
  const named = settings.text('inter.broker.listener.name')?.toUpperCase()
  if (named === undefined || listeners.some(({ name }) => name === named)) return named ?? first
  errors.push(`${settings.describe('inter.broker.listener.name')} is not in listeners`)
  return first
}

function httpOf(settings: Settings, errors: string[]): Address | null {
  const text = settings.text('http.listen') as string
  if (text === 'off') return null
  const address = parseHostPort(text)
  if (address === null) errors.push(`${settings.describe('http.listen')} is neither host:port nor off`)
  return address
}

function limitsOf(settings: Settings, errors: string[]): ConnectionLimits {
  const { overrides, problems } = perIpOverrides(settings.list('max.connections.per.ip.overrides'))
  for (const problem of problems) errors.push(`${settings.describe('max.connections.per.ip.overrides')}: ${problem}`)
  const idleMs = settings.number('connections.max.idle.ms')
  const queuedBytes = settings.number('queued.max.request.bytes')
  const connections = settings.number('max.connections')
  return {
    ...DEFAULT_LIMITS,
    requestBytesMax: settings.number('socket.request.max.bytes'),
    firstRequestBytesMax: Math.min(DEFAULT_LIMITS.firstRequestBytesMax, settings.number('socket.request.max.bytes')),
    idleMs: idleMs < 0 ? Number.POSITIVE_INFINITY : idleMs,
    connectionsMax: settings.isSet('max.connections') ? connections : DEFAULT_LIMITS.connectionsMax,
    connectionsPerIpMax: settings.number('max.connections.per.ip'),
    connectionsPerIpOverrides: overrides,
    connectionsPerSecondMax: settings.number('max.connection.creation.rate'),
    nodeInFlightBytesMax: queuedBytes > 0 ? queuedBytes : DEFAULT_LIMITS.nodeInFlightBytesMax,
  }
}

import type { MetadataImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { type ConfigDef, listOf, parseConfig } from './config-def.ts'
import {
  brokerConfigDef,
  brokerConfigs,
  clientMetricsConfigs,
  groupConfigs,
  listenerConfigBase,
  topicConfigs,
} from './config-defs.ts'
import { type BrokerContext, brokerConfig } from './config-view.ts'
import { ACCEPTED, type Refusal, refusal } from './decision.ts'
import { isElrOn } from './feature-names.ts'
import { likelyNames } from './nearest-name.ts'
import { perIpOverrides } from './per-ip-overrides.ts'
import { topicNameProblem } from './topic-names.ts'

/** All that a resource would have set after a change, not only what changes. */
export type Configs = ReadonlyMap<string, string>

/** The definition of a key on a resource, or undefined. */
export function defOn(resourceType: number, key: string): ConfigDef | undefined {
  switch (resourceType) {
    case ResourceType.topic:
      return topicConfigs.get(key)
    case ResourceType.broker:
      return brokerConfigDef(key)
    case ResourceType.clientMetrics:
      return clientMetricsConfigs.get(key)
    case ResourceType.group:
      return groupConfigs.get(key)
    default:
      return undefined
  }
}

/** Whether there are configs of such resources. */
export function hasConfigs(resourceType: number): boolean {
  const { topic, broker, clientMetrics, group } = ResourceType
  return [topic, broker, clientMetrics, group].some((known) => known === resourceType)
}

export function unknownType(resourceType: number): Refusal {
  return refusal(ErrorCode.INVALID_REQUEST, `Unknown resource type ${resourceType}`)
}

/** Whether `configs` may stand on the resource, with Kafka's codes and messages. Says nothing about its existence. */
export function checkConfigs(
  image: MetadataImage,
  broker: BrokerContext,
  resource: { readonly type: number; readonly name: string },
  configs: Configs,
): Refusal {
  switch (resource.type) {
    case ResourceType.topic:
      return checkTopicConfigs(image, broker, resource.name, configs)
    case ResourceType.broker:
      return checkBrokerConfigs(image, resource.name, configs)
    case ResourceType.clientMetrics:
      return checkClientMetrics(resource.name, configs)
    case ResourceType.group:
      return checkGroupConfigs(image, broker, resource.name, configs)
    default:
      return unknownType(resource.type)
  }
}

function invalid(message: string): Refusal {
  return refusal(ErrorCode.INVALID_CONFIG, message)
}

/** Kafka's message for an unknown key, and the key that was most likely meant. */
function unknownKey(message: string, key: string, table: ReadonlyMap<string, ConfigDef>): string {
  const likely = likelyNames(key, table.keys())
  return likely === null ? message : `${message}. Did you mean ${likely}?`
}

function checkValues(type: number, configs: Configs): string | null {
  for (const [key, value] of configs) {
    const def = defOn(type, key)
    const parsed = def === undefined ? { value } : parseConfig({ ...def, name: key }, value)
    if ('error' in parsed) return parsed.error
  }
  return null
}

function checkTopicConfigs(image: MetadataImage, broker: BrokerContext, name: string, configs: Configs): Refusal {
  if (name === '') return refusal(ErrorCode.INVALID_REQUEST, 'Default topic resources are not allowed.')
  const problem = topicNameProblem(name)
  if (problem !== null) return refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
  for (const key of configs.keys()) {
    if (!topicConfigs.has(key)) return invalid(unknownKey(`Unknown topic config name: ${key}`, key, topicConfigs))
  }
  const reason = checkValues(ResourceType.topic, configs)
  if (reason !== null) return invalid(reason)
  const lag = (key: string, brokerKey: string) => configs.get(key) ?? brokerConfig(image, broker, brokerKey) ?? '0'
  const minLag = lag('min.compaction.lag.ms', 'log.cleaner.min.compaction.lag.ms')
  const maxLag = lag('max.compaction.lag.ms', 'log.cleaner.max.compaction.lag.ms')
  if (Number(minLag) > Number(maxLag)) {
    return invalid(
      `conflict topic config setting min.compaction.lag.ms (${minLag}) > max.compaction.lag.ms (${maxLag})`,
    )
  }
  if (configs.get('remote.storage.enable') === 'true') {
    const disabled = 'Tiered Storage functionality is disabled in the broker. '
    return invalid(`${disabled}Topic cannot be configured with remote log storage.`)
  }
  return ACCEPTED
}

/** Kafka changes these at run time; here they would be without effect, which nobody would notice. */
const notLive = ['listeners', 'listener.security.protocol.map', 'cordoned.log.dirs']

function checkBrokerConfigs(image: MetadataImage, name: string, configs: Configs): Refusal {
  const nameProblem = brokerNameProblem(image, name)
  if (nameProblem !== null) return refusal(ErrorCode.INVALID_REQUEST, nameProblem)
  const fixed: string[] = []
  const perBroker: string[] = []
  const perListener: string[] = []
  for (const key of configs.keys()) {
    const def = brokerConfigDef(key)
    if (def === undefined) return invalid(unknownBrokerKey(key))
    if (def.update === 'read-only' && listenerConfigBase(key) === null) fixed.push(key)
    if (def.update === 'per-broker') perBroker.push(key)
    if (/^ssl\.(key|trust)store\.|^ssl\.key\.password$/.test(key)) perListener.push(key)
  }
  // Of Kafka's two codes for a bad config, brokers have always had this one.
  const bad = (message: string) => refusal(ErrorCode.INVALID_REQUEST, message)
  if (fixed.length > 0) return bad(`Cannot update these configs dynamically: [${fixed.join(', ')}]`)
  if (perListener.length > 0) {
    const message = 'These security configs can be dynamically updated only per-listener using the listener prefix'
    return bad(`${message}: [${perListener.join(', ')}]`)
  }
  const reason = checkValues(ResourceType.broker, configs)
  if (reason !== null) return bad(reason)
  const { problems } = perIpOverrides(listOf(configs.get('max.connections.per.ip.overrides') ?? ''))
  if (problems.length > 0) return bad(`max.connections.per.ip.overrides: ${problems.join(', ')}`)
  if (name === '' && perBroker.length > 0) {
    const message = 'Cannot update these configs at default cluster level, broker id must be specified'
    return bad(`${message}: [${perBroker.join(', ')}]`)
  }
  if (name !== '' && configs.has('min.insync.replicas') && isElrOn(image)) {
    return invalid('Broker-level min.insync.replicas cannot be altered while ELR is enabled.')
  }
  const later = notLive.find((key) => configs.has(key))
  if (later !== undefined) return bad(`${later} cannot be changed while a node runs: set it where the node is started`)
  return ACCEPTED
}

function unknownBrokerKey(key: string): string {
  return unknownKey(`Unknown broker config name: ${key}`, listenerConfigBase(key) ?? key, brokerConfigs)
}

/** Why no broker can be meant; null for one that there is, and for all of them. */
export function brokerNameProblem(image: MetadataImage, name: string): string | null {
  if (name === '') return null
  if (!/^[+-]?[0-9]{1,10}$/.test(name)) return `Node id must be an integer, but it is: ${name}`
  if (image.broker(Number(name)) !== undefined) return null
  const expected = [...image.brokers.keys()].sort((a, b) => a - b).join(', ')
  return `Unexpected broker id, expected ${expected}, but received ${name}`
}

const INTERVAL_MS_MIN = 100
const INTERVAL_MS_MAX = 3_600_000
const selectors = [
  'client_instance_id',
  'client_id',
  'client_software_name',
  'client_software_version',
  'client_source_address',
  'client_source_port',
]

function checkClientMetrics(name: string, configs: Configs): Refusal {
  const bad = (message: string) => refusal(ErrorCode.INVALID_REQUEST, message)
  if (name === '') return bad("Subscription name can't be empty")
  for (const key of configs.keys()) {
    if (!clientMetricsConfigs.has(key)) {
      return bad(unknownKey(`Unknown client metrics configuration: ${key}`, key, clientMetricsConfigs))
    }
  }
  const reason = checkValues(ResourceType.clientMetrics, configs)
  if (reason !== null) return invalid(reason)
  const interval = configs.get('interval.ms')
  if (interval !== undefined && (Number(interval) < INTERVAL_MS_MIN || Number(interval) > INTERVAL_MS_MAX)) {
    return bad(
      `Invalid value ${interval} for interval.ms, interval must be between ${INTERVAL_MS_MIN} and ` +
        `${INTERVAL_MS_MAX} (1 hour)`,
    )
  }
  for (const pattern of listOf(configs.get('match') ?? '')) {
    const [selector = '', expression, ...rest] = pattern.split('=')
    if (expression === undefined || rest.length > 0 || !selectors.includes(selector.trim()) || !isPattern(expression)) {
      return invalid(`Illegal client matching pattern: ${pattern}`)
    }
  }
  return ACCEPTED
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text.trim(), 'u')
    return true
  } catch {
    return false
  }
}

/** Group keys that must stay within bounds that brokers set: key, lower bound, upper bound. */
const groupBounds: readonly (readonly [key: string, min: string | null, max: string | null])[] = [
  ...['consumer', 'share', 'streams'].flatMap((kind): [string, string, string][] =>
    ['heartbeat.interval.ms', 'session.timeout.ms', 'assignment.interval.ms'].map((what) => [
      `${kind}.${what}`,
      `group.${kind}.min.${what}`,
      `group.${kind}.max.${what}`,
    ]),
  ),
  ...['record.lock.duration.ms', 'delivery.count.limit', 'partition.max.record.locks'].map(
    (what): [string, string, string] => [`share.${what}`, `group.share.min.${what}`, `group.share.max.${what}`],
  ),
  ['streams.num.standby.replicas', null, 'group.streams.max.standby.replicas'],
]

function checkGroupConfigs(image: MetadataImage, broker: BrokerContext, name: string, configs: Configs): Refusal {
  if (name === '') return refusal(ErrorCode.INVALID_REQUEST, 'Default group resources are not allowed.')
  for (const key of configs.keys()) {
    if (!groupConfigs.has(key)) return invalid(unknownKey(`Unknown group config name: ${key}`, key, groupConfigs))
  }
  const reason = checkValues(ResourceType.group, configs)
  if (reason !== null) return invalid(reason)
  for (const [key, min, max] of groupBounds) {
    const value = configs.get(key)
    if (value === undefined) continue
    const limit = (name: string | null) => (name === null ? null : Number(brokerConfig(image, broker, name)))
    const [low, high] = [limit(min), limit(max)]
    if (Number(value) >= (low ?? 0) && Number(value) <= (high ?? Number.POSITIVE_INFINITY)) continue
    if (low === null) return invalid(`${key} must be less than or equal to ${high}`)
    return invalid(`${key} must be in the range ${low} to ${high} inclusive.`)
  }
  for (const kind of ['consumer', 'share', 'streams']) {
    const of = (what: string) =>
      Number(configs.get(`${kind}.${what}`) ?? brokerConfig(image, broker, `group.${kind}.${what}`))
    if (of('session.timeout.ms') <= of('heartbeat.interval.ms')) {
      return invalid(`${kind}.session.timeout.ms must be greater than ${kind}.heartbeat.interval.ms`)
    }
  }
  return ACCEPTED
}

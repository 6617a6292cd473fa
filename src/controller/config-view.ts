import { assert } from '../base/assert.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import { minInsync } from '../model/min-insync.ts'
import { type ConfigDef, isSensitive } from './config-def.ts'
import { brokerConfigDef, brokerConfigs, listenerConfigBase, topicConfigs } from './config-defs.ts'
import { type TopicSynonym, topicSynonyms } from './config-topic.ts'
import { isElrOn } from './feature-names.ts'

/** Where a value comes from, with the codes that DescribeConfigs sends. */
export const ConfigSource = {
  topic: 1,
  dynamicBroker: 2,
  dynamicDefaultBroker: 3,
  staticBroker: 4,
  default: 5,
  brokerLogger: 6,
  clientMetrics: 7,
  group: 8,
} as const
export type ConfigSourceCode = (typeof ConfigSource)[keyof typeof ConfigSource]

export interface ConfigSynonym {
  readonly name: string
  /** Null for a password. */
  readonly value: string | null
  readonly source: ConfigSourceCode
}

/** A broker as far as its configs go. */
export interface BrokerContext {
  readonly brokerId: number
  /** From `parseStaticConfig`. */
  readonly staticValues: ReadonlyMap<string, string>
}

/** Broker keys that are one config in several units; the first that is set counts. */
const unitSynonyms: readonly (readonly string[])[] = [
  ['log.roll.ms', 'log.roll.hours'],
  ['log.roll.jitter.ms', 'log.roll.jitter.hours'],
  ['log.flush.interval.ms', 'log.flush.scheduler.interval.ms'],
  ['log.retention.ms', 'log.retention.minutes', 'log.retention.hours'],
]

/** `name` and the other names of the same config, in the order in which they count. */
export function brokerSynonyms(name: string): readonly string[] {
  const base = listenerConfigBase(name)
  if (base !== null) return [name, brokerConfigDef(name)?.name ?? base]
  return unitSynonyms.find((names) => names.includes(name)) ?? [name]
}

/** The layers of a broker's config, strongest first. */
function layers(image: MetadataImage, broker: BrokerContext): [ReadonlyMap<string, string>, ConfigSourceCode][] {
  return [
    [image.configOf({ type: ResourceType.broker, name: String(broker.brokerId) }), ConfigSource.dynamicBroker],
    [image.configOf({ type: ResourceType.broker, name: '' }), ConfigSource.dynamicDefaultBroker],
    [broker.staticValues, ConfigSource.staticBroker],
  ]
}

/** What a broker key and its other units have in each layer, strongest first, their defaults last. */
export function brokerValues(image: MetadataImage, broker: BrokerContext, name: string): ConfigSynonym[] {
  const found: ConfigSynonym[] = []
  const names = brokerSynonyms(name)
  for (const [values, source] of layers(image, broker)) {
    for (const synonym of names) {
      const value = values.get(synonym)
      if (value !== undefined) found.push({ name: synonym, value, source })
    }
  }
  for (const synonym of names) {
    const value = brokerConfigDef(synonym)?.default
    if (value != null) found.push({ name: synonym, value, source: ConfigSource.default })
  }
  return found
}

/**
 * What DescribeConfigs shows of them for `name`, as Kafka does: from its own first value on. What only another unit has
 * set would hide that the config itself is unset.
 */
export function shownValues(values: readonly ConfigSynonym[], name: string): ConfigSynonym[] {
  const first = values.findIndex((each) => each.name === name)
  return first === -1 ? [] : values.slice(first)
}

/** The value a broker key has for `broker`, in its normal form; null when it has none. Other units do not count. */
export function brokerConfig(image: MetadataImage, broker: BrokerContext, name: string): string | null {
  assert(brokerConfigDef(name) !== undefined, `broker config ${name} is not in the table`)
  return brokerValues(image, broker, name).find((each) => each.name === name)?.value ?? null
}

/** The same as a number; the config must have one. */
export function brokerNumber(image: MetadataImage, broker: BrokerContext, name: string): number {
  const value = brokerConfig(image, broker, name)
  assert(value !== null, `broker config ${name} has no value`)
  return Number(value)
}

/** True when someone set the key, in any layer. */
export function isBrokerConfigSet(image: MetadataImage, broker: BrokerContext, name: string): boolean {
  return layers(image, broker).some(([values]) => values.has(name))
}

/** The value of a topic key, and all that stands behind it, strongest first. */
export interface TopicValue {
  readonly value: string | null
  readonly synonyms: readonly ConfigSynonym[]
}

/** `replicationFactor` matters to `min.insync.replicas` alone, where nobody set it. */
export function topicValue(
  image: MetadataImage,
  broker: BrokerContext,
  own: ReadonlyMap<string, string>,
  def: ConfigDef,
  replicationFactor: number,
): TopicValue {
  const synonyms: ConfigSynonym[] = []
  const ownValue = own.get(def.name)
  if (ownValue !== undefined) synonyms.push({ name: def.name, value: ownValue, source: ConfigSource.topic })
  const names = topicSynonyms.get(def.name) ?? []
  const primary = names[0]
  const inherited = primary === undefined ? [] : inheritedValues(image, broker, primary.name)
  if (primary !== undefined) synonyms.push(...shownValues(inherited, primary.name))
  if (def.name === 'min.insync.replicas' && synonyms[0]?.source === ConfigSource.default) {
    return { value: String(minInsync(null, replicationFactor)), synonyms }
  }
  if (ownValue !== undefined) return { value: ownValue, synonyms }
  const strongest = inherited[0]
  return { value: strongest === undefined ? fallback(def, names) : scaled(strongest, names), synonyms }
}

/**
 * What a topic inherits. With eligible replicas (KIP-966) the controller and every leader must agree on
 * `min.insync.replicas`, so only what is set for the whole cluster counts, not what one broker was started with.
 */
function inheritedValues(image: MetadataImage, broker: BrokerContext, name: string): ConfigSynonym[] {
  const all = brokerValues(image, broker, name)
  if (name !== 'min.insync.replicas' || !isElrOn(image)) return all
  return all.filter(({ source }) => source === ConfigSource.dynamicDefaultBroker || source === ConfigSource.default)
}

/** Nothing is set: the first unit with a default decides, as `log.retention.hours` does for `retention.ms`. */
function fallback(def: ConfigDef, names: readonly TopicSynonym[]): string | null {
  for (const { name, factor } of names) {
    const value = brokerConfigs.get(name)?.default
    if (value != null) return scaled({ name, value }, [{ name, factor }])
  }
  return def.default
}

function scaled(
  { name, value }: { name: string; value: string | null },
  names: readonly TopicSynonym[],
): string | null {
  const factor = names.find((each) => each.name === name)?.factor ?? 1
  if (value === null || factor === 1) return value
  // Hours below zero stand for "for ever", as milliseconds do.
  return Number(value) < 0 ? '-1' : String(BigInt(value) * BigInt(factor))
}

/** The keys that DescribeConfigs shows for every topic. */
export function shownTopicConfigs(): ConfigDef[] {
  return [...topicConfigs.values()].filter(({ internal }) => !internal)
}

/** Passwords out. */
export function withoutSecrets(def: ConfigDef | undefined, synonyms: readonly ConfigSynonym[]): ConfigSynonym[] {
  // A key that the table does not know might hold anything.
  const hidden = def === undefined || isSensitive(def)
  return synonyms.map((each) => (hidden ? { ...each, value: null } : each))
}

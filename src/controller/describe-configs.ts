import type { MetadataImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import type { DescribeConfigsRequest, DescribeConfigsResponse } from '../protocol/apis/describe-configs.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { type ConfigDef, ConfigType, isSensitive } from './config-def.ts'
import { brokerConfigDef, brokerConfigs, clientMetricsConfigs, groupConfigs } from './config-defs.ts'
import { groupSynonyms } from './config-group.ts'
import {
  type BrokerContext,
  brokerValues,
  ConfigSource,
  type ConfigSourceCode,
  type ConfigSynonym,
  shownTopicConfigs,
  shownValues,
  topicValue,
  withoutSecrets,
} from './config-view.ts'
import { type Refusal, refusal } from './decision.ts'
import { topicNameProblem } from './topic-names.ts'

type Resource = DescribeConfigsRequest['resources'][number]
type Result = DescribeConfigsResponse['results'][number]

/** One config of a resource, as it is shown. Values of passwords are null. */
export interface DescribedConfig {
  readonly name: string
  readonly value: string | null
  readonly readOnly: boolean
  readonly configSource: ConfigSourceCode
  readonly isSensitive: boolean
  /** Strongest first; the value in force is the first one's. */
  readonly synonyms: readonly ConfigSynonym[]
  readonly configType: number
  readonly documentation: string | null
}

/** Levels of this node's loggers, by name: they are no part of the image. */
export type LoggerLevels = ReadonlyMap<string, string>

/** Answers from the image and from what `broker` was started with; every key of the resource is there. */
export function describeConfigs(
  image: MetadataImage,
  broker: BrokerContext,
  loggers: LoggerLevels,
  request: DescribeConfigsRequest,
): DescribeConfigsResponse {
  const unknown = request.resources.find(({ resourceType }) => !resourceTypes.has(resourceType))
  const results = request.resources.map((resource): Result => {
    const { resourceType, resourceName, configurationKeys } = resource
    // One type that is none refuses the whole request, as Kafka does.
    const described =
      unknown === undefined ? describeResource(image, broker, loggers, resource) : unsupportedType(unknown.resourceType)
    if ('errorCode' in described) return { ...described, resourceType, resourceName, configs: [] }
    const wanted = (configurationKeys ?? []).length === 0 ? null : new Set(configurationKeys)
    const configs = described
      .filter(({ name }) => wanted === null || wanted.has(name))
      .map((config) => ({
        ...config,
        synonyms: request.includeSynonyms ? config.synonyms : [],
        documentation: request.includeDocumentation ? config.documentation : null,
      }))
    return { errorCode: ErrorCode.NONE, errorMessage: '', resourceType, resourceName, configs }
  })
  return { throttleTimeMs: 0, results }
}

const resourceTypes: ReadonlySet<number> = new Set(Object.values(ResourceType))

function unsupportedType(resourceType: number): Refusal {
  return refusal(ErrorCode.INVALID_REQUEST, `Unsupported resource type: ${resourceType}`)
}

function describeResource(
  image: MetadataImage,
  broker: BrokerContext,
  loggers: LoggerLevels,
  { resourceType, resourceName: name }: Resource,
): DescribedConfig[] | Refusal {
  const bad = (message: string) => refusal(ErrorCode.INVALID_REQUEST, message)
  switch (resourceType) {
    case ResourceType.topic: {
      const problem = topicNameProblem(name)
      if (problem !== null) return refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
      if (image.topic(name) === undefined) return refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
      return describeTopic(image, broker, name)
    }
    case ResourceType.broker:
      if (name === '') return describeBrokerDefaults(image)
      return brokerMismatch(broker, name, ' or empty string,') ?? describeBroker(image, broker)
    case ResourceType.brokerLogger:
      if (name === '') return bad('Broker id must not be empty')
      return brokerMismatch(broker, name, '') ?? describeLoggers(loggers)
    case ResourceType.clientMetrics:
      if (name === '') return bad('Client metrics subscription name must not be empty')
      return describeClientMetrics(image, name)
    case ResourceType.group:
      if (name === '') return bad('Group name must not be empty')
      return describeGroup(image, broker, name)
    default:
      return unsupportedType(resourceType)
  }
}

function brokerMismatch(broker: BrokerContext, name: string, alternative: string): Refusal | null {
  const bad = (message: string) => refusal(ErrorCode.INVALID_REQUEST, message)
  if (!/^[+-]?[0-9]{1,10}$/.test(name)) return bad(`Broker id must be an integer, but it is: ${name}`)
  if (Number(name) === broker.brokerId) return null
  return bad(`Unexpected broker id, expected ${broker.brokerId}${alternative} but received ${name}`)
}

/** The configs of a topic that exists, or (for one about to be created) with `own` as what it would have. */
export function describeTopic(
  image: MetadataImage,
  broker: BrokerContext,
  name: string,
  creating?: { readonly own: ReadonlyMap<string, string>; readonly replicationFactor: number },
): DescribedConfig[] {
  const own = creating?.own ?? image.configOf({ type: ResourceType.topic, name })
  const replicationFactor = creating?.replicationFactor ?? image.topic(name)?.partitions[0]?.replicas.length ?? 1
  return shownTopicConfigs().map((def) => {
    const { value, synonyms } = topicValue(image, broker, own, def, replicationFactor)
    return entry(def, { value, synonyms, readOnly: false })
  })
}

function describeBroker(image: MetadataImage, broker: BrokerContext): DescribedConfig[] {
  const names = new Set<string>()
  for (const def of brokerConfigs.values()) if (!def.internal && !def.dynamicOnly) names.add(def.name)
  for (const name of broker.staticValues.keys()) if (brokerConfigDef(name)?.internal !== true) names.add(name)
  for (const resource of [String(broker.brokerId), '']) {
    for (const name of image.configOf({ type: ResourceType.broker, name: resource }).keys()) names.add(name)
  }
  return [...names].map((name) => {
    const synonyms = shownValues(brokerValues(image, broker, name), name)
    const value = synonyms.find((each) => each.name === name)?.value ?? null
    return entry(brokerConfigDef(name), { name, value, synonyms, readOnly: isReadOnly(name) })
  })
}

/** Only what is set for all brokers. */
function describeBrokerDefaults(image: MetadataImage): DescribedConfig[] {
  return [...image.configOf({ type: ResourceType.broker, name: '' })].map(([name, value]) => {
    const synonyms: ConfigSynonym[] = [{ name, value, source: ConfigSource.dynamicDefaultBroker }]
    return entry(brokerConfigDef(name), { name, value, synonyms, readOnly: isReadOnly(name) })
  })
}

function isReadOnly(name: string): boolean {
  return (brokerConfigDef(name)?.update ?? 'read-only') === 'read-only'
}

function describeGroup(image: MetadataImage, broker: BrokerContext, name: string): DescribedConfig[] {
  const own = image.configOf({ type: ResourceType.group, name })
  return [...groupConfigs.values()]
    .filter(({ internal }) => !internal)
    .map((def) => {
      const brokerKey = groupSynonyms.get(def.name) ?? def.name
      const inherited = brokerConfigDef(brokerKey) === undefined ? [] : brokerValues(image, broker, brokerKey)
      const ownValue = own.get(def.name)
      const value = ownValue ?? inherited[0]?.value ?? def.default
      const synonyms: ConfigSynonym[] = [...inherited]
      if (inherited.length === 0) synonyms.push({ name: def.name, value: def.default, source: ConfigSource.default })
      if (ownValue !== undefined) synonyms.unshift({ name: def.name, value: ownValue, source: ConfigSource.group })
      return entry(def, { value, synonyms, readOnly: false })
    })
}

function describeClientMetrics(image: MetadataImage, name: string): DescribedConfig[] {
  const own = image.configOf({ type: ResourceType.clientMetrics, name })
  return [...clientMetricsConfigs.values()].map((def) => {
    const value = own.get(def.name)
    const source = value === undefined ? ConfigSource.default : ConfigSource.clientMetrics
    return { ...entry(def, { value: value ?? def.default, synonyms: [], readOnly: false }), configSource: source }
  })
}

function describeLoggers(loggers: LoggerLevels): DescribedConfig[] {
  return [...loggers].map(([name, value]) => ({
    name,
    value,
    readOnly: false,
    configSource: ConfigSource.brokerLogger,
    isSensitive: false,
    synonyms: [],
    configType: 0,
    documentation: null,
  }))
}

function entry(
  def: ConfigDef | undefined,
  shown: {
    readonly name?: string
    readonly value: string | null
    readonly synonyms: readonly ConfigSynonym[]
    readonly readOnly: boolean
  },
): DescribedConfig {
  // A key that the table does not know might hold anything: it is treated as a password.
  const hidden = def === undefined || isSensitive(def)
  return {
    name: shown.name ?? def?.name ?? '',
    value: hidden ? null : shown.value,
    readOnly: shown.readOnly,
    configSource: shown.synonyms[0]?.source ?? ConfigSource.default,
    isSensitive: hidden,
    synonyms: withoutSecrets(def, shown.synonyms),
    configType: def === undefined ? 0 : ConfigType[def.type],
    documentation: def?.doc ?? null,
  }
}

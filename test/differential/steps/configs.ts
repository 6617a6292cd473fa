import { AlterConfigs } from '../../../src/protocol/apis/alter-configs.ts'
import { DescribeConfigs } from '../../../src/protocol/apis/describe-configs.ts'
import { IncrementalAlterConfigs } from '../../../src/protocol/apis/incremental-alter-configs.ts'
import { ListConfigResources } from '../../../src/protocol/apis/list-config-resources.ts'
import type { Random } from '../../../src/base/random.ts'
import type { Model } from '../model.ts'
import type { Step } from '../step.ts'
import { groupConfig, topicConfig } from './config-values.ts'

const TOPIC = 2
const BROKER = 4
const LOGGER = 8
const METRICS = 16
const GROUP = 32

/** A resource whose configs a sequence may change: never the broker's, which the next sequence would meet. */
function changeable(model: Model): { resourceType: number; resourceName: string } {
  const { random } = model
  const kind = random.below(20)
  if (kind < 15) return { resourceType: TOPIC, resourceName: model.topic().name }
  if (kind < 18) return { resourceType: GROUP, resourceName: model.group() }
  return random.pick([
    { resourceType: BROKER, resourceName: '7' },
    { resourceType: BROKER, resourceName: 'one' },
    { resourceType: LOGGER, resourceName: '7' },
    { resourceType: METRICS, resourceName: `${model.prefix}metrics` },
    { resourceType: 0, resourceName: 'x' },
    { resourceType: 77, resourceName: 'x' },
    { resourceType: TOPIC, resourceName: '' },
  ])
}

function settingFor(model: Model, resourceType: number) {
  return resourceType === GROUP ? groupConfig(model.random) : topicConfig(model.random)
}

export function incrementalAlterConfigs(model: Model): Step[] {
  const { random } = model
  const resources = Array.from({ length: random.pick([1, 1, 1, 2]) }, () => {
    const resource = changeable(model)
    const configs = Array.from({ length: random.pick([0, 1, 1, 1, 2, 3]) }, () => ({
      ...settingFor(model, resource.resourceType),
      configOperation: random.chance(0.7) ? 0 : random.pick([1, 2, 3]),
    }))
    return { ...resource, configs }
  })
  const body = { resources, validateOnly: random.chance(0.25) }
  return [{ api: IncrementalAlterConfigs, version: model.version(IncrementalAlterConfigs), body }]
}

export function alterConfigs(model: Model): Step[] {
  const { random } = model
  const named = Array.from({ length: random.pick([1, 1, 2]) }, () => changeable(model))
  // Kafka does not answer when one is there twice.
  const once = new Map(named.map((resource) => [JSON.stringify(resource), resource]))
  const resources = Array.from(once.values(), (resource) => {
    const configs = Array.from({ length: random.pick([0, 1, 1, 2]) }, () => settingFor(model, resource.resourceType))
    return { ...resource, configs }
  })
  const body = { resources, validateOnly: random.chance(0.25) }
  return [{ api: AlterConfigs, version: model.version(AlterConfigs), body }]
}

const KEYS = [
  'retention.ms',
  'cleanup.policy',
  'no.such.config',
  'min.insync.replicas',
  'consumer.session.timeout.ms',
  '',
]

const BROKER_KEYS = [
  'log.retention.ms',
  'num.partitions',
  'compression.type',
  'message.max.bytes',
  'no.such.config',
  '',
]

/** Of a broker's many configs those that both have alike; the whole list is compared with Kafka's elsewhere. */
function brokerConfigs(random: Random) {
  const configurationKeys = Array.from({ length: random.between(1, 3) }, () => random.pick(BROKER_KEYS))
  return { resourceType: BROKER, resourceName: random.pick(['1', '']), configurationKeys }
}

export function describeConfigs(model: Model): Step[] {
  const { random } = model
  const resources = Array.from({ length: random.pick([1, 1, 1, 2, 0]) }, () => {
    if (random.chance(0.1)) return brokerConfigs(random)
    const own = changeable(model)
    const few = Array.from({ length: random.between(0, 3) }, () => random.pick(KEYS))
    return { ...own, configurationKeys: random.chance(0.5) ? null : few }
  })
  const body = { resources, includeSynonyms: random.chance(0.6), includeDocumentation: random.chance(0.3) }
  return [{ api: DescribeConfigs, version: model.version(DescribeConfigs), body }]
}

export function listConfigResources(model: Model): Step[] {
  const { random } = model
  const resourceTypes = Array.from({ length: random.between(0, 3) }, () => random.pick([2, 4, 8, 16, 32, 0, 77]))
  return [{ api: ListConfigResources, version: model.version(ListConfigResources), body: { resourceTypes } }]
}

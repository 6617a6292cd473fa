import type { ConfigEntry, ConfigSource } from '../../client/admin.ts'
import { ListConfigResources } from '../../protocol/apis/list-config-resources.ts'
import type { Session } from '../connect.ts'
import type { Entity } from './configs-entity.ts'
import { hashOfText, inHashOrder } from './java.ts'
import { out } from './tool.ts'

/** As Kafka's client calls them. */
const SOURCES: Readonly<Record<ConfigSource, string>> = {
  unknown: 'UNKNOWN',
  topic: 'DYNAMIC_TOPIC_CONFIG',
  'dynamic-broker': 'DYNAMIC_BROKER_CONFIG',
  'dynamic-default-broker': 'DYNAMIC_DEFAULT_BROKER_CONFIG',
  'static-broker': 'STATIC_BROKER_CONFIG',
  default: 'DEFAULT_CONFIG',
  'broker-logger': 'DYNAMIC_BROKER_LOGGER_CONFIG',
  'client-metrics': 'DYNAMIC_CLIENT_METRICS_CONFIG',
  group: 'DYNAMIC_GROUP_CONFIG',
}

/** What counts as set for each kind; loggers show all they have. */
const OWN_SOURCE: Readonly<Record<string, ConfigSource>> = {
  topics: 'topic',
  brokers: 'dynamic-broker',
  'client-metrics': 'client-metrics',
  groups: 'group',
}

const CLIENT_METRICS_RESOURCE = 16
const GROUP_RESOURCE = 32

/** kafka-configs --describe. */
export async function describeConfigs(session: Session, entity: Entity, isAll: boolean): Promise<void> {
  const { type, kind, name } = entity
  const known = await existing(session, entity)
  if (name !== null && name !== '' && known !== null && !known.includes(name)) {
    return out(`The ${type.slice(0, -1)} '${name}' doesn't exist and doesn't have dynamic config.\n`)
  }
  const names = name === null ? [...(known ?? []), ...(type === 'brokers' ? [''] : [])] : [name]
  for (const each of names) {
    const [described] = await session.admin.describeConfigs([{ kind, name: each }])
    const entries = (described?.configs ?? []).filter((entry) => isAll || isSet(type, each, entry))
    await out(`${headOf(type, each, isAll)}\n${entries.map(lineOf).join('')}`)
  }
}

/** Null where anything may have settings. */
async function existing({ admin, client }: Session, { type, name }: Entity): Promise<string[] | null> {
  switch (type) {
    case 'topics': {
      const topics = await admin.listTopics({ internal: true })
      return inHashOrder(topics, (topic) => hashOfText(topic.name)).map((topic) => topic.name)
    }
    case 'brokers':
    case 'broker-loggers': {
      const { brokers } = await admin.describeCluster()
      return brokers.map(({ nodeId }) => String(nodeId))
    }
    default: {
      if (name !== null) return null
      const resourceType = type === 'groups' ? GROUP_RESOURCE : CLIENT_METRICS_RESOURCE
      const { configResources } = await client.request('any', ListConfigResources, { resourceTypes: [resourceType] })
      const own = configResources.map(({ resourceName }) => resourceName)
      const groups = type === 'groups' ? (await admin.groups.list()).map(({ groupId }) => groupId) : []
      return inHashOrder([...new Set([...groups, ...own])], hashOfText)
    }
  }
}

function isSet(type: string, name: string, { source }: ConfigEntry): boolean {
  if (type === 'brokers' && name === '') return source === 'dynamic-default-broker'
  const own = OWN_SOURCE[type]
  return own === undefined || source === own
}

function headOf(type: string, name: string, isAll: boolean): string {
  if (name === '') return `Default configs for ${type} in the cluster are:`
  return `${isAll ? 'All' : 'Dynamic'} configs for ${type === 'client-metrics' ? 'client-metric' : type.slice(0, -1)} ${name} are:`
}

function lineOf({ name, value, isSensitive, synonyms }: ConfigEntry): string {
  const behind = synonyms.map((each) => `${SOURCES[each.source]}:${each.name}=${each.value}`).join(', ')
  return `  ${name}=${value} sensitive=${isSensitive} synonyms={${behind}}\n`
}

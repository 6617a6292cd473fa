import { Admin } from '../../../../src/embedded/client.ts'
import type { Failure } from '../../protocol.ts'
import type { Handlers } from './serve.ts'

const sources = [
  'unknown',
  'topic',
  'dynamic-broker',
  'dynamic-default-broker',
  'static-broker',
  'default',
  'broker-logger',
  'client-metrics',
  'group',
]

export function adminHandlers(bootstrap: string, failureOf: (error: unknown) => Failure | null): Handlers {
  // What does not exist may be on its way to the server that was asked: our client asks again until the time is over.
  const admin = new Admin({ bootstrap, callTimeoutMs: 8000 })
  const item = (error: Error | null) => (error === null ? null : failureOf(error))
  return {
    async createTopics({ topics, validateOnly }) {
      const created = await admin.createTopics(topics, { validateOnly })
      return { topics: created.map(({ name, error }) => ({ name, error: item(error) })) }
    },

    async deleteTopics({ topics }) {
      const deleted = await admin.deleteTopics(topics)
      return { topics: deleted.map(({ name, error }) => ({ name, error: item(error) })) }
    },

    async describeTopic({ topic }) {
      const [info] = await admin.describeTopics([topic])
      const partitions = (info?.partitions ?? []).map(({ leader, replicas, isr }, partition) => {
        return { partition, leader, replicas, isr }
      })
      return { partitions }
    },

    async createPartitions({ topic, total }) {
      const [result] = await admin.createPartitions([{ name: topic, partitions: total }])
      if (result?.error != null) throw result.error
      return {}
    },

    async describeConfigs({ kind, name }) {
      const [resource] = await admin.describeConfigs([{ kind, name }])
      const configs = (resource?.configs ?? []).map((config) => ({
        name: config.name,
        value: config.value,
        isReadOnly: config.isReadOnly,
        isSensitive: config.isSensitive,
        source: sources.indexOf(config.source),
      }))
      return { configs }
    },

    async alterConfigs({ kind, name, set, remove }) {
      await admin.alterConfigs({ kind, name }, [
        ...Object.entries(set).map(([key, value]) => ({ name: key, operation: 'set', value }) as const),
        ...remove.map((key) => ({ name: key, operation: 'delete' }) as const),
      ])
      return {}
    },

    async deleteRecords({ topic, partition, before }) {
      const result = (await admin.deleteRecords([{ topic, partition, offset: before }])).get({ topic, partition })
      if (result?.error != null) throw result.error
      return { lowWatermark: result?.startOffset ?? -1 }
    },

    async listOffsets({ topic, partitions, at }) {
      const found = await admin.listOffsets(partitions.map((partition) => ({ topic, partition, at })))
      const offsets = partitions.map((partition) => ({
        partition,
        offset: found.get({ topic, partition })?.offset ?? -1,
      }))
      return { offsets }
    },

    async offsetsForTimes({ topic, partition, timestamps }) {
      const offsets: { timestamp: number; offset: number | null }[] = []
      for (const timestamp of timestamps) {
        const found = await admin.listOffsets([{ topic, partition, at: timestamp }])
        const offset = found.get({ topic, partition })?.offset ?? -1
        offsets.push({ timestamp, offset: offset < 0 ? null : offset })
      }
      return { offsets }
    },

    async listGroups() {
      const groups = await admin.groups.list()
      return {
        groups: groups.map(({ groupId, state, protocolType, type }) => ({ group: groupId, state, protocolType, type })),
      }
    },

    async describeGroup({ group }) {
      const [described] = await admin.groups.describe([group])
      if (described === undefined) throw new Error('no answer')
      const { state, protocolType, protocol } = described
      const members = described.members.map(({ clientId, groupInstanceId, assignment }) => ({
        clientId,
        instanceId: groupInstanceId,
        partitions: (assignment ?? []).map(({ topic, partition }) => ({ topic, partition })),
      }))
      return { state, protocolType, protocol, members }
    },

    async deleteGroups({ groups }) {
      const deleted = await admin.groups.delete(groups)
      return { groups: deleted.map(({ groupId, error }) => ({ group: groupId, error: item(error) })) }
    },

    async committed({ group, topic, partitions }) {
      const found = await admin.groups.offsets(
        group,
        partitions.map((partition) => ({ topic, partition })),
      )
      const offsets = partitions.map((partition) => {
        const committed = found.get({ topic, partition })
        return { partition, offset: committed?.offset ?? -1, metadata: committed?.metadata ?? null }
      })
      return { offsets }
    },

    async alterOffsets({ group, topic, offsets }) {
      await admin.groups.commitOffsets(
        group,
        offsets.map((each) => ({ topic, ...each })),
      )
      return {}
    },

    async deleteOffsets({ group, topic, partitions }) {
      const results = await admin.groups.deleteOffsets(
        group,
        partitions.map((partition) => ({ topic, partition })),
      )
      for (const partition of partitions) {
        const error = results.get({ topic, partition })
        if (error != null) throw error
      }
      return {}
    },
  }
}

import {
  type Admin,
  ConfigResourceTypes,
  IncrementalAlterConfigOperationTypes,
  ListOffsetTimestamps,
} from '@platformatic/kafka'
import type { Failure } from '../../protocol.ts'
import type { Handlers } from './serve.ts'

const kinds = { topic: ConfigResourceTypes.TOPIC, broker: ConfigResourceTypes.BROKER }

export function adminHandlers(admin: Admin, failureOf: (error: unknown) => Failure | null): Handlers {
  /** Its calls say whether all went well: with one name that is the answer for it. */
  const outcome = async (what: Promise<unknown>): Promise<Failure | null> => {
    try {
      await what
      return null
    } catch (error) {
      const failure = failureOf(error)
      if (failure === null) throw error
      return failure
    }
  }
  const offsetAt = async (topic: string, partition: number, timestamp: bigint) => {
    const [found] = await admin.listOffsets({
      topics: [{ name: topic, partitions: [{ partitionIndex: partition, timestamp }] }],
    })
    return Number(found?.partitions[0]?.offset ?? -1)
  }

  return {
    async createTopics({ topics }) {
      const answers: { name: string; error: Failure | null }[] = []
      for (const { name, partitions, replicationFactor, configs } of topics) {
        const entries = Object.entries(configs).map(([key, value]) => ({ name: key, value }))
        const made = admin.createTopics({ topics: [name], partitions, replicas: replicationFactor, configs: entries })
        answers.push({ name, error: await outcome(made) })
      }
      return { topics: answers }
    },

    async deleteTopics({ topics }) {
      const error = await outcome(admin.deleteTopics({ topics: [...topics] }))
      return { topics: topics.map((name) => ({ name, error })) }
    },

    async describeTopic({ topic }) {
      const { topics } = await admin.metadata({ topics: [topic], autocreateTopics: false })
      const partitions = (topics.get(topic)?.partitions ?? []).map(({ leader, replicas, isr }, partition) => {
        return { partition, leader, replicas, isr }
      })
      return { partitions }
    },

    async createPartitions({ topic, total }) {
      await admin.createPartitions({ topics: [{ name: topic, count: total, assignments: [] }] })
      return {}
    },

    async describeConfigs({ kind, name }) {
      const [resource] = await admin.describeConfigs({
        resources: [{ resourceType: kinds[kind], resourceName: name, configurationKeys: null }],
      })
      const configs = (resource?.configs ?? []).map((config) => ({
        name: config.name,
        value: config.value ?? null,
        isReadOnly: config.readOnly,
        isSensitive: config.isSensitive,
        source: config.configSource,
      }))
      return { configs }
    },

    async alterConfigs({ kind, name, set, remove }) {
      const { SET, DELETE } = IncrementalAlterConfigOperationTypes
      const configs = [
        ...Object.entries(set).map(([key, value]) => ({ name: key, configOperation: SET, value })),
        ...remove.map((key) => ({ name: key, configOperation: DELETE, value: null })),
      ]
      await admin.incrementalAlterConfigs({ resources: [{ resourceType: kinds[kind], resourceName: name, configs }] })
      return {}
    },

    async deleteRecords({ topic, partition, before }) {
      const [deleted] = await admin.deleteRecords({
        topics: [{ name: topic, partitions: [{ partition, offset: BigInt(before) }] }],
      })
      return { lowWatermark: Number(deleted?.partitions[0]?.lowWatermark ?? -1) }
    },

    async listOffsets({ topic, partitions, at }) {
      const timestamp = at === 'earliest' ? ListOffsetTimestamps.EARLIEST : ListOffsetTimestamps.LATEST
      const offsets: { partition: number; offset: number }[] = []
      for (const partition of partitions)
        offsets.push({ partition, offset: await offsetAt(topic, partition, timestamp) })
      return { offsets }
    },

    async offsetsForTimes({ topic, partition, timestamps }) {
      const offsets: { timestamp: number; offset: number | null }[] = []
      for (const timestamp of timestamps) {
        const offset = await offsetAt(topic, partition, BigInt(timestamp))
        offsets.push({ timestamp, offset: offset < 0 ? null : offset })
      }
      return { offsets }
    },

    async listGroups() {
      const found = [...(await admin.listGroups()).values()]
      return {
        groups: found.map(({ id, state, protocolType, groupType }) => ({
          group: id,
          state,
          protocolType,
          ...(groupType === undefined ? {} : { type: groupType }),
        })),
      }
    },

    async describeGroup({ group }) {
      const found = (await admin.describeGroups({ groups: [group] })).get(group)
      if (found === undefined) throw new Error('no answer')
      const members = [...found.members.values()].map(({ clientId, groupInstanceId, assignments }) => ({
        clientId,
        instanceId: groupInstanceId ?? null,
        partitions: [...(assignments?.values() ?? [])].flatMap(({ topic, partitions }) =>
          partitions.map((partition) => ({ topic, partition })),
        ),
      }))
      return { state: found.state, protocolType: found.protocolType, protocol: found.protocol, members }
    },

    async deleteGroups({ groups }) {
      const error = await outcome(admin.deleteGroups({ groups: [...groups] }))
      return { groups: groups.map((group) => ({ group, error })) }
    },

    async committed({ group, topic, partitions }) {
      const [found] = await admin.listConsumerGroupOffsets({
        groups: [{ groupId: group, topics: [{ name: topic, partitionIndexes: [...partitions] }] }],
      })
      const offsets = (found?.topics[0]?.partitions ?? []).map(({ partitionIndex, committedOffset, metadata }) => ({
        partition: partitionIndex,
        offset: Number(committedOffset),
        metadata: metadata ?? null,
      }))
      return { offsets }
    },

    async alterOffsets({ group, topic, offsets }) {
      const partitionOffsets = offsets.map(({ partition, offset }) => ({ partition, offset: BigInt(offset) }))
      await admin.alterConsumerGroupOffsets({ groupId: group, topics: [{ name: topic, partitionOffsets }] })
      return {}
    },

    async deleteOffsets({ group, topic, partitions }) {
      await admin.deleteConsumerGroupOffsets({
        groupId: group,
        topics: [{ name: topic, partitionIndexes: [...partitions] }],
      })
      return {}
    },
  }
}

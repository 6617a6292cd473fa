import kafkajs, { type Admin, type Kafka } from 'kafkajs'
import type { Failure } from '../../protocol.ts'
import type { Handlers } from './serve.ts'

const kinds = { topic: kafkajs.ConfigResourceTypes.TOPIC, broker: kafkajs.ConfigResourceTypes.BROKER }

export function adminHandlers(kafka: Kafka, failureOf: (error: unknown) => Failure | null): Handlers {
  const connected: { admin: Admin | null } = { admin: null }
  const admin = async () => {
    if (connected.admin === null) {
      connected.admin = kafka.admin()
      await connected.admin.connect()
    }
    return connected.admin
  }
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

  return {
    async createTopics({ topics, validateOnly }) {
      const client = await admin()
      const wanted = topics.map(({ name, partitions, replicationFactor, configs }) => ({
        topic: name,
        numPartitions: partitions,
        replicationFactor,
        configEntries: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
      }))
      // Gives false for a topic that exists.
      const made = await client.createTopics({ topics: wanted, validateOnly, waitForLeaders: false })
      const error = made ? null : { name: 'false', code: null, message: 'it gave false' }
      return { topics: topics.map(({ name }) => ({ name, error })) }
    },

    async deleteTopics({ topics }) {
      const client = await admin()
      const error = await outcome(client.deleteTopics({ topics: [...topics] }))
      return { topics: topics.map((name) => ({ name, error })) }
    },

    async describeTopic({ topic }) {
      const { topics } = await (await admin()).fetchTopicMetadata({ topics: [topic] })
      const partitions = (topics[0]?.partitions ?? []).map(({ partitionId: partition, leader, replicas, isr }) => {
        return { partition, leader, replicas, isr }
      })
      return { partitions: partitions.sort((a, b) => a.partition - b.partition) }
    },

    async createPartitions({ topic, total }) {
      await (await admin()).createPartitions({ topicPartitions: [{ topic, count: total }] })
      return {}
    },

    async describeConfigs({ kind, name }) {
      const client = await admin()
      const { resources } = await client.describeConfigs({
        resources: [{ type: kinds[kind], name }],
        includeSynonyms: false,
      })
      const configs = (resources[0]?.configEntries ?? []).map((config) => ({
        name: config.configName,
        value: config.configValue,
        isReadOnly: config.readOnly,
        isSensitive: config.isSensitive,
        source: config.configSource,
      }))
      return { configs }
    },

    /** The older call: it sets all, and what it does not name becomes the default. */
    async alterConfigs({ kind, name, set }) {
      const configEntries = Object.entries(set).map(([key, value]) => ({ name: key, value }))
      const resources = [{ type: kinds[kind], name, configEntries }]
      await (await admin()).alterConfigs({ validateOnly: false, resources })
      return {}
    },

    async deleteRecords({ topic, partition, before }) {
      const client = await admin()
      // It looks for the leader only among topics that it was asked about before.
      await client.fetchTopicOffsets(topic)
      await client.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] })
      const offsets = await client.fetchTopicOffsets(topic)
      return { lowWatermark: Number(offsets.find((each) => each.partition === partition)?.low ?? -1) }
    },

    async listOffsets({ topic, partitions, at }) {
      const found = await (await admin()).fetchTopicOffsets(topic)
      const offsets = found
        .filter(({ partition }) => partitions.includes(partition))
        .map(({ partition, low, high }) => ({ partition, offset: Number(at === 'earliest' ? low : high) }))
      return { offsets }
    },

    async offsetsForTimes({ topic, partition, timestamps }) {
      const client = await admin()
      const offsets: { timestamp: number; offset: number }[] = []
      for (const timestamp of timestamps) {
        const found = await client.fetchTopicOffsetsByTimestamp(topic, timestamp)
        offsets.push({ timestamp, offset: Number(found.find((each) => each.partition === partition)?.offset) })
      }
      return { offsets }
    },

    async listGroups() {
      const { groups } = await (await admin()).listGroups()
      return { groups: groups.map(({ groupId, protocolType }) => ({ group: groupId, protocolType })) }
    },

    async describeGroup({ group }) {
      const { groups } = await (await admin()).describeGroups([group])
      const [found] = groups
      if (found === undefined) throw new Error('no answer')
      const members = found.members.map(({ clientId, memberAssignment }) => {
        const assignment =
          memberAssignment.length === 0
            ? {}
            : (kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {})
        const partitions = Object.entries(assignment).flatMap(([topic, owned]) =>
          owned.map((partition) => ({ topic, partition })),
        )
        return { clientId, partitions }
      })
      return { state: found.state, protocolType: found.protocolType, protocol: found.protocol, members }
    },

    async deleteGroups({ groups }) {
      const error = await outcome((await admin()).deleteGroups([...groups]))
      return { groups: groups.map((group) => ({ group, error })) }
    },

    async committed({ group, topic, partitions }) {
      const [found] = await (await admin()).fetchOffsets({ groupId: group, topics: [topic] })
      const offsets = (found?.partitions ?? [])
        .filter(({ partition }) => partitions.includes(partition))
        .map(({ partition, offset, metadata }) => ({ partition, offset: Number(offset), metadata }))
      return { offsets }
    },

    async alterOffsets({ group, topic, offsets }) {
      const partitions = offsets.map(({ partition, offset }) => ({ partition, offset: String(offset) }))
      await (await admin()).setOffsets({ groupId: group, topic, partitions })
      return {}
    },
  }
}

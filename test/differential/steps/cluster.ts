import { AddRaftVoter } from '../../../src/protocol/apis/add-raft-voter.ts'
import { AlterPartitionReassignments } from '../../../src/protocol/apis/alter-partition-reassignments.ts'
import { ApiVersions } from '../../../src/protocol/apis/api-versions.ts'
import { DescribeCluster } from '../../../src/protocol/apis/describe-cluster.ts'
import { DescribeLogDirs } from '../../../src/protocol/apis/describe-log-dirs.ts'
import { DescribeQuorum } from '../../../src/protocol/apis/describe-quorum.ts'
import { ElectLeaders } from '../../../src/protocol/apis/elect-leaders.ts'
import { FindCoordinator } from '../../../src/protocol/apis/find-coordinator.ts'
import { ListPartitionReassignments } from '../../../src/protocol/apis/list-partition-reassignments.ts'
import { RemoveRaftVoter } from '../../../src/protocol/apis/remove-raft-voter.ts'
import { UnregisterBroker } from '../../../src/protocol/apis/unregister-broker.ts'
import { UnregisterController } from '../../../src/protocol/apis/unregister-controller.ts'
import { UpdateFeatures } from '../../../src/protocol/apis/update-features.ts'
import type { Model } from '../model.ts'
import type { Body, Step } from '../step.ts'

const TIMEOUT_MS = 30_000

export function describeCluster(model: Model): Step[] {
  const { random } = model
  const body = {
    includeClusterAuthorizedOperations: random.chance(0.5),
    endpointType: random.pick([1, 1, 1, 2, 0, 3]),
    includeFencedBrokers: random.chance(0.5),
  }
  return [{ api: DescribeCluster, version: model.version(DescribeCluster), body }]
}

export function describeQuorum(model: Model): Step[] {
  const { random } = model
  const log = { topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }
  const odd: Body[] = [
    { topicName: '__cluster_metadata', partitions: [{ partitionIndex: 1 }] },
    { topicName: model.topic().name, partitions: [{ partitionIndex: 0 }] },
    { topicName: '__cluster_metadata', partitions: [] },
  ]
  const topics = random.chance(0.6) ? [log] : random.pick([[], [random.pick(odd)], [log, log], [log, random.pick(odd)]])
  return [{ api: DescribeQuorum, version: model.version(DescribeQuorum), body: { topics } }]
}

export function findCoordinator(model: Model): Step[] {
  const { random } = model
  const keys = Array.from({ length: random.between(0, 3) }, () => model.group())
  const body = {
    key: model.group(),
    keyType: random.chance(0.85) ? 0 : random.pick([3, -1, 77]),
    coordinatorKeys: keys,
  }
  return [{ api: FindCoordinator, version: model.version(FindCoordinator), body }]
}

export function apiVersions(model: Model): Step[] {
  const { random } = model
  const body = {
    clientSoftwareName: random.pick(['differential', 'a', '', 'a b', 'größe', '-', 'a-1.b']),
    clientSoftwareVersion: random.pick(['1.0', '1', '', '1 0', '.']),
    clusterId: random.chance(0.7) ? null : 'another-cluster',
    nodeId: random.chance(0.7) ? -1 : random.pick([1, 2, 0]),
  }
  return [{ api: ApiVersions, version: model.version(ApiVersions), body }]
}

export function describeLogDirs(model: Model): Step[] {
  const { random } = model
  const topics = model.topicsOnce(random.between(0, 2)).map((topic) => {
    return { topic: topic.name, partitions: model.partitionsOnce(topic, random.between(0, 2)) }
  })
  const body = { topics: random.chance(0.2) ? null : topics }
  return [{ api: DescribeLogDirs, version: model.version(DescribeLogDirs), body }]
}

export function electLeaders(model: Model): Step[] {
  const { random } = model
  const topicPartitions = model.topicsOnce(random.between(0, 2)).map((topic) => {
    return { topic: topic.name, partitions: model.partitionsOnce(topic, random.between(0, 2)) }
  })
  const body = {
    electionType: random.chance(0.8) ? random.below(2) : random.pick([2, -1]),
    topicPartitions: random.chance(0.1) ? null : topicPartitions,
    timeoutMs: TIMEOUT_MS,
  }
  return [{ api: ElectLeaders, version: model.version(ElectLeaders), body }]
}

export function alterPartitionReassignments(model: Model): Step[] {
  const { random } = model
  const topics = model.topicsOnce(random.pick([1, 1, 2])).map((topic) => {
    const partitions = model.partitionsOnce(topic, random.pick([1, 1, 2, 0])).map((partitionIndex) => ({
      partitionIndex,
      replicas: random.pick([null, null, [1], [1], [], [2], [1, 2], [1, 1], [-1]]),
    }))
    return { name: topic.name, partitions }
  })
  const body = { timeoutMs: TIMEOUT_MS, allowReplicationFactorChange: random.chance(0.7), topics }
  return [{ api: AlterPartitionReassignments, version: model.version(AlterPartitionReassignments), body }]
}

export function listPartitionReassignments(model: Model): Step[] {
  const { random } = model
  const topics = model.topicsOnce(random.between(0, 2)).map((topic) => {
    return { name: topic.name, partitionIndexes: [model.partition(topic)] }
  })
  const body = { timeoutMs: TIMEOUT_MS, topics: random.chance(0.3) ? null : topics }
  return [{ api: ListPartitionReassignments, version: 0, body }]
}

/** Only what leaves the cluster as it is. */
export function updateFeatures(model: Model): Step[] {
  const { random } = model
  const updates = [
    { feature: 'no.such.feature', maxVersionLevel: 1 },
    { feature: 'metadata.version', maxVersionLevel: 1 },
    { feature: 'metadata.version', maxVersionLevel: 999 },
    { feature: 'metadata.version', maxVersionLevel: -1 },
    { feature: 'group.version', maxVersionLevel: 99 },
    { feature: 'kraft.version', maxVersionLevel: 9 },
    { feature: '', maxVersionLevel: 1 },
  ]
  const featureUpdates = Array.from({ length: random.pick([1, 1, 1, 2, 0]) }, () => ({
    ...random.pick(updates),
    allowDowngrade: random.chance(0.3),
    upgradeType: random.pick([1, 1, 2, 3, 0, 9]),
  }))
  const body = { timeoutMs: TIMEOUT_MS, featureUpdates, validateOnly: true }
  return [{ api: UpdateFeatures, version: model.version(UpdateFeatures, 1), body }]
}

/** Nodes that are not there, and voters of another cluster. */
export function changeNodes(model: Model): Step[] {
  const { random } = model
  const directory = random.bytes(16).toString('base64url')
  return [
    random.pick<Step>([
      { api: UnregisterBroker, version: 0, body: { brokerId: random.pick([77, -1, 2 ** 31 - 1]) } },
      { api: UnregisterController, version: 0, body: { controllerId: random.pick([77, -1]) } },
      {
        api: RemoveRaftVoter,
        version: 0,
        body: {
          clusterId: random.pick([null, 'another-cluster']),
          voterId: random.pick([77, -1]),
          voterDirectoryId: directory,
        },
      },
      {
        api: AddRaftVoter,
        version: model.version(AddRaftVoter),
        body: {
          clusterId: 'another-cluster',
          timeoutMs: 1000,
          voterId: 77,
          voterDirectoryId: directory,
          listeners: [{ name: 'CONTROLLER', host: '127.0.0.1', port: 1 }],
        },
      },
    ]),
  ]
}

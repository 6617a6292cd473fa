import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResourceType } from '../metadata/records.ts'
import { IncrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'
import { ConfigOperation } from './alter-configs.ts'

test('a list that is appended to beyond what a record carries is refused, and the controller goes on', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 })
  cluster.createTopic('t', { numPartitions: 1, replicationFactor: 1 })
  const append = (from: number, count: number) => {
    const value = Array.from({ length: count }, (_, index) => `${from + index}:1`).join(',')
    const name = 'leader.replication.throttled.replicas'
    const configs = [{ name, configOperation: ConfigOperation.append, value }]
    const resources = [{ resourceType: ResourceType.topic, resourceName: 't', configs }]
    return cluster.ask(IncrementalAlterConfigs, { resources, validateOnly: false }).responses[0]
  }
  assert.equal(append(100_000, 3000)?.errorCode, ErrorCode.NONE)
  const refused = append(200_000, 3000)
  assert.equal(refused?.errorCode, ErrorCode.INVALID_CONFIG)
  assert.match(String(refused?.errorMessage), /exceeds the maximum value size of 32767 bytes/)
  assert.equal(append(200_000, 5)?.errorCode, ErrorCode.NONE)
})

test('what a list holds twice stays when it is appended to; what is appended comes once, and not if it is there', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 })
  cluster.createTopic('t', { numPartitions: 1, replicationFactor: 1 })
  const name = 'leader.replication.throttled.replicas'
  const alter = (configOperation: number, value: string) => {
    const resource = {
      resourceType: ResourceType.topic,
      resourceName: 't',
      configs: [{ name, configOperation, value }],
    }
    cluster.ask(IncrementalAlterConfigs, { resources: [resource], validateOnly: false })
    return cluster.image.configOf({ type: ResourceType.topic, name: 't' }).get(name)
  }
  assert.equal(alter(ConfigOperation.set, '0:1,0:1'), '0:1,0:1')
  assert.equal(alter(ConfigOperation.append, '0:1,1:1,1:1'), '0:1,0:1,1:1')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResourceType } from '../metadata/records.ts'
import { ControllerRegistration } from '../protocol/apis/controller-registration.ts'
import { IncrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import { UnregisterController } from '../protocol/apis/unregister-controller.ts'
import { UpdateFeatures } from '../protocol/apis/update-features.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'
import { bootstrapRecords } from './features.ts'

const ELR = 'eligible.leader.replicas.version'
const configRecordOf = (resourceName: string, value: string | null) => ({
  type: 'Config',
  value: { resourceType: ResourceType.broker, resourceName, name: 'min.insync.replicas', value },
})

function setForBroker(cluster: ShardCluster, resourceName: string, value: string) {
  const configs = [{ name: 'min.insync.replicas', configOperation: 0, value }]
  const resources = [{ resourceType: ResourceType.broker, resourceName, configs }]
  return cluster.ask(IncrementalAlterConfigs, { resources, validateOnly: false }).responses[0]
}

function setLevel(cluster: ShardCluster, feature: string, maxVersionLevel: number, upgradeType = 1) {
  const featureUpdates = [{ feature, maxVersionLevel, upgradeType, allowDowngrade: false }]
  return cluster.ask(UpdateFeatures, { timeoutMs: 1000, featureUpdates, validateOnly: false })
}

test('min.insync.replicas of the node that founds a cluster is the cluster’s', () => {
  const records = bootstrapRecords(new Map([['min.insync.replicas', '2']]))
  assert.deepEqual(records.at(-1), configRecordOf('', '2'))
  assert.ok(bootstrapRecords().every(({ type }) => type === 'FeatureLevel'))
})

test('with eligible replicas no broker has a min.insync.replicas of its own', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 })
  const { errorCode, errorMessage } = setForBroker(cluster, '1', '2') ?? {}
  assert.equal(errorCode, ErrorCode.INVALID_CONFIG)
  assert.equal(errorMessage, 'Broker-level min.insync.replicas cannot be altered while ELR is enabled.')
  assert.equal(setForBroker(cluster, '', '2')?.errorCode, ErrorCode.NONE)
})

test('turning eligible replicas on makes min.insync.replicas one for all', () => {
  const cluster = new ShardCluster(new Map([['min.insync.replicas', '2']]), false)
  cluster.join({ id: 1 })
  setForBroker(cluster, '1', '3')
  const from = cluster.log.length
  assert.equal(setLevel(cluster, ELR, 1).errorCode, ErrorCode.NONE)
  assert.deepEqual(cluster.log.slice(from), [
    configRecordOf('', '2'),
    configRecordOf('1', null),
    { type: 'FeatureLevel', value: { name: ELR, featureLevel: 1 } },
  ])
})

test('levels go up by an upgrade and down by a downgrade only', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 })
  const answer = (level: number, type: number) => setLevel(cluster, ELR, level, type).errorMessage ?? 'NONE'
  assert.match(answer(0, 1), /Can't downgrade the version of this feature without setting the upgrade type/)
  assert.equal(answer(0, 2), 'NONE')
  assert.match(answer(1, 2), /Can't downgrade to a newer version\./)
  assert.match(answer(1, 0), /does not support the given upgrade type/)
  assert.equal(answer(1, 1), 'NONE')
})

test('a feature level that a broker or controller does not have is refused with its number', () => {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 })
  const refused = setLevel(cluster, 'metadata.version', 99)
  assert.equal(refused.errorCode, ErrorCode.INVALID_UPDATE_VERSION)
  assert.match(refused.errorMessage ?? '', /metadata\.version/)
  cluster.ask(ControllerRegistration, {
    controllerId: 7,
    incarnationId: cluster.id(5),
    zkMigrationReady: false,
    listeners: [],
    features: [
      { name: 'metadata.version', minSupportedVersion: 7, maxSupportedVersion: 33 },
      { name: ELR, minSupportedVersion: 0, maxSupportedVersion: 1 },
    ],
  })
  setLevel(cluster, ELR, 0, 2)
  cluster.ask(ControllerRegistration, {
    controllerId: 8,
    incarnationId: cluster.id(5),
    zkMigrationReady: false,
    listeners: [],
    features: [{ name: 'metadata.version', minSupportedVersion: 7, maxSupportedVersion: 33 }],
  })
  assert.match(setLevel(cluster, ELR, 1).errorMessage ?? '', /Controller 8 only supports versions 0-0/)
  // It is gone for good: it does not count any more.
  assert.equal(cluster.ask(UnregisterController, { controllerId: 8 }).errorCode, ErrorCode.NONE)
  assert.equal(cluster.ask(UnregisterController, { controllerId: 8 }).errorCode, ErrorCode.CONTROLLER_ID_NOT_REGISTERED)
  assert.equal(setLevel(cluster, ELR, 1).errorCode, ErrorCode.NONE)
})

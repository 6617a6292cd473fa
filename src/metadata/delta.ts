import { assert, unreachable } from '../base/assert.ts'
import type { TopicId } from '../model/ids.ts'
import { changesBetween, type MetadataChanges } from './changes.ts'
import {
  type BrokerImage,
  type ClientQuotaImage,
  configKey,
  type ImagePosition,
  MetadataImage,
  type PartitionImage,
  quotaKey,
  scramKey,
  type TopicImage,
} from './image.ts'
import { changePartition, clearElr, partitionFrom } from './partition-image.ts'
import type { PersistentMap } from './persistent-map.ts'
import {
  type BrokerRegistrationChangeRecord,
  type ClientQuotaRecord,
  type ConfigRecord,
  type MetadataRecord,
  type PartitionChangeRecord,
  type PartitionRecord,
  type RegisterBrokerRecord,
  type RegisterControllerRecord,
  ResourceType,
} from './records.ts'
import type { TopicIndex } from './topic-index.ts'

/** A topic on its way into the next image; its array is the delta's own until `apply` hands it over. */
interface TopicDraft {
  readonly name: string
  readonly topicId: TopicId
  readonly partitions: PartitionImage[]
}

/**
 * Records on top of an image. Life cycle: made from an image, fed records in log order, then `apply` once (or dropped).
 * Begin, End and Abort of metadata transactions are the log reader's business: it feeds only what took effect.
 * A record that contradicts the image means that the log is not the one the image came from, or a bug in the controller
 * that wrote it: it fails an assertion.
 */
export class MetadataDelta {
  readonly before: MetadataImage
  readonly #drafts = new Map<string, TopicDraft>()
  readonly #topicIds = new Set<string>()
  readonly #brokerIds = new Set<number>()
  readonly #configKeys = new Set<string>()
  /** Deletions take effect here at once, creations and changes in `apply`. */
  #topicsByName: PersistentMap<string, TopicImage>
  #topicsById: PersistentMap<string, TopicImage>
  #features
  #brokers
  #controllers
  #configs
  #clientQuotas
  #nextProducerId: number
  #acls
  #scramCredentials
  #delegationTokens
  #changes: MetadataChanges | null = null

  constructor(before: MetadataImage) {
    this.before = before
    this.#topicsByName = before.topicsByName
    this.#topicsById = before.topicsById
    this.#features = before.features
    this.#brokers = before.brokers
    this.#controllers = before.controllers
    this.#configs = before.configs
    this.#clientQuotas = before.clientQuotas
    this.#nextProducerId = before.nextProducerId
    this.#acls = before.acls
    this.#scramCredentials = before.scramCredentials
    this.#delegationTokens = before.delegationTokens
  }

  /** The next image, at `position`. The delta takes no more records after it. */
  apply(position: ImagePosition): MetadataImage {
    assert(this.#changes === null, 'a metadata delta applied twice')
    for (const draft of this.#drafts.values()) {
      this.#topicsByName = this.#topicsByName.set(draft.name, draft)
      this.#topicsById = this.#topicsById.set(draft.topicId, draft)
    }
    const after = new MetadataImage({
      position,
      features: this.#features,
      brokers: this.#brokers,
      controllers: this.#controllers,
      topicsByName: this.#topicsByName,
      topicsById: this.#topicsById,
      topicIndex: this.#topicIndex(),
      configs: this.#configs,
      clientQuotas: this.#clientQuotas,
      nextProducerId: this.#nextProducerId,
      acls: this.#acls,
      scramCredentials: this.#scramCredentials,
      delegationTokens: this.#delegationTokens,
    })
    const touched = { topicIds: this.#topicIds, brokerIds: this.#brokerIds, configs: this.#configKeys }
    this.#changes = changesBetween(this.before, after, touched)
    return after
  }

  #topicIndex(): TopicIndex {
    let index = this.before.topicIndex
    for (const topicId of this.#topicIds) {
      index = index.with(topicId, this.before.topicById(topicId), this.#topicsById.get(topicId))
    }
    return index
  }

  /** What `apply` changed; only after it. */
  get changes(): MetadataChanges {
    assert(this.#changes !== null, 'the changes of a metadata delta that was not applied')
    return this.#changes
  }

  replay(record: MetadataRecord): void {
    assert(this.#changes === null, `${record.type} record for a metadata delta that was applied`)
    switch (record.type) {
      case 'RegisterBroker':
        return this.#setBroker(brokerFrom(record.value))
      case 'UnregisterBroker':
        this.#brokerIds.add(record.value.brokerId)
        this.#brokers = this.#brokers.delete(record.value.brokerId)
        return
      case 'FenceBroker':
        return this.#setBroker({ ...this.#brokerAt(record.value.id, record.value.epoch), fenced: true })
      case 'UnfenceBroker':
        return this.#setBroker({ ...this.#brokerAt(record.value.id, record.value.epoch), fenced: false })
      case 'BrokerRegistrationChange':
        return this.#changeBroker(record.value)
      case 'RegisterController':
        this.#controllers = this.#controllers.set(record.value.controllerId, controllerFrom(record.value))
        return
      case 'UnregisterController':
        this.#controllers = this.#controllers.delete(record.value.controllerId)
        return
      case 'Topic':
        return this.#createTopic(record.value.name, record.value.topicId as TopicId)
      case 'Partition':
        return this.#addPartition(record.value)
      case 'PartitionChange':
        return this.#changePartition(record.value)
      case 'RemoveTopic':
        return this.#removeTopic(record.value.topicId)
      case 'ClearElr':
        return this.#clearElr(record.value.topicName)
      case 'Config':
        return this.#setConfig(record.value)
      case 'FeatureLevel': {
        const { name, featureLevel } = record.value
        this.#features = featureLevel === 0 ? this.#features.delete(name) : this.#features.set(name, featureLevel)
        return
      }
      case 'ClientQuota':
        return this.#setQuota(record.value)
      case 'ProducerIds':
        assert(
          record.value.nextProducerId >= this.#nextProducerId,
          `next producer id ${record.value.nextProducerId} after ${this.#nextProducerId}`,
        )
        this.#nextProducerId = record.value.nextProducerId
        return
      case 'AccessControlEntry':
        this.#acls = this.#acls.set(record.value.id, record.value)
        return
      case 'RemoveAccessControlEntry':
        this.#acls = this.#acls.delete(record.value.id)
        return
      case 'UserScramCredential':
        this.#scramCredentials = this.#scramCredentials.set(scramKey(record.value), record.value)
        return
      case 'RemoveUserScramCredential':
        this.#scramCredentials = this.#scramCredentials.delete(scramKey(record.value))
        return
      case 'DelegationToken':
        this.#delegationTokens = this.#delegationTokens.set(record.value.tokenId, record.value)
        return
      case 'RemoveDelegationToken':
        this.#delegationTokens = this.#delegationTokens.delete(record.value.tokenId)
        return
      case 'NoOp':
      case 'ZkMigrationState':
      case 'BeginTransaction':
      case 'EndTransaction':
      case 'AbortTransaction':
        return
      default:
        unreachable(record)
    }
  }

  #setBroker(broker: BrokerImage): void {
    this.#brokerIds.add(broker.brokerId)
    this.#brokers = this.#brokers.set(broker.brokerId, broker)
  }

  #brokerAt(brokerId: number, brokerEpoch: number): BrokerImage {
    const broker = this.#brokers.get(brokerId)
    assert(broker?.brokerEpoch === brokerEpoch, `broker ${brokerId} at epoch ${brokerEpoch}, is ${broker?.brokerEpoch}`)
    return broker
  }

  #changeBroker(change: BrokerRegistrationChangeRecord): void {
    const broker = this.#brokerAt(change.brokerId, change.brokerEpoch)
    this.#setBroker({
      ...broker,
      fenced: change.fenced === 0 ? broker.fenced : change.fenced > 0,
      inControlledShutdown: change.inControlledShutdown === 0 ? broker.inControlledShutdown : true,
      logDirs: change.logDirs.length === 0 ? broker.logDirs : change.logDirs,
      cordonedLogDirs: change.cordonedLogDirs ?? broker.cordonedLogDirs,
      outOfSpace: change.outOfSpace < 0 ? broker.outOfSpace : change.outOfSpace,
    })
  }

  #createTopic(name: string, topicId: TopicId): void {
    const free = !this.#topicsById.has(topicId) && !this.#drafts.has(topicId) && !this.#topicsByName.has(name)
    assert(free, `topic ${name} with id ${topicId} created twice`)
    this.#topicIds.add(topicId)
    this.#drafts.set(topicId, { name, topicId, partitions: [] })
  }

  #draft(topicId: string): TopicDraft {
    let draft = this.#drafts.get(topicId)
    if (draft === undefined) {
      const topic = this.#topicsById.get(topicId)
      assert(topic !== undefined, `a record about topic id ${topicId}, which does not exist`)
      draft = { name: topic.name, topicId: topic.topicId, partitions: [...topic.partitions] }
      this.#drafts.set(topicId, draft)
      this.#topicIds.add(topicId)
    }
    return draft
  }

  #addPartition(record: PartitionRecord): void {
    const { name, partitions } = this.#draft(record.topicId)
    const { partitionId } = record
    assert(partitionId >= 0 && partitionId <= partitions.length, `${name}-${partitionId} after ${partitions.length}`)
    partitions[partitionId] = partitionFrom(record)
  }

  #changePartition(record: PartitionChangeRecord): void {
    const { name, partitions } = this.#draft(record.topicId)
    const partition = partitions[record.partitionId]
    assert(partition !== undefined, `a change of ${name}-${record.partitionId}, which does not exist`)
    partitions[record.partitionId] = changePartition(partition, record)
  }

  #removeTopic(topicId: string): void {
    const topic = this.#drafts.get(topicId) ?? this.#topicsById.get(topicId)
    assert(topic !== undefined, `topic id ${topicId} removed, but it does not exist`)
    this.#drafts.delete(topicId)
    this.#topicIds.add(topicId)
    this.#topicsById = this.#topicsById.delete(topicId)
    this.#topicsByName = this.#topicsByName.delete(topic.name)
    const key = configKey({ type: ResourceType.topic, name: topic.name })
    this.#configKeys.add(key)
    this.#configs = this.#configs.delete(key)
  }

  /** The empty name stands for all topics. */
  #clearElr(topicName: string): void {
    const ids = new Set<string>()
    for (const topic of [...this.#topicsById.values(), ...this.#drafts.values()]) {
      if (topicName === '' || topic.name === topicName) ids.add(topic.topicId)
    }
    for (const topicId of ids) {
      const current = (this.#drafts.get(topicId) ?? this.#topicsById.get(topicId)) as TopicImage
      for (const [index, partition] of current.partitions.entries()) {
        const cleared = clearElr(partition)
        if (cleared !== partition) this.#draft(topicId).partitions[index] = cleared
      }
    }
  }

  #setConfig({ resourceType: type, resourceName: name, name: key, value }: ConfigRecord): void {
    const resource = configKey({ type, name })
    const values = new Map(this.#configs.get(resource)?.values)
    if (value === null) values.delete(key)
    else values.set(key, value)
    this.#configKeys.add(resource)
    this.#configs =
      values.size === 0 ? this.#configs.delete(resource) : this.#configs.set(resource, { type, name, values })
  }

  #setQuota({ entity, key, value, remove }: ClientQuotaRecord): void {
    const quota = quotaKey(entity)
    const old: ClientQuotaImage | undefined = this.#clientQuotas.get(quota)
    const values = new Map(old?.values)
    if (remove) values.delete(key)
    else values.set(key, value)
    this.#clientQuotas =
      values.size === 0 ? this.#clientQuotas.delete(quota) : this.#clientQuotas.set(quota, { entity, values })
  }
}

function brokerFrom({ endPoints, isMigratingZkBroker: _, ...rest }: RegisterBrokerRecord): BrokerImage {
  return { ...rest, endpoints: endPoints }
}

function controllerFrom({ endPoints, ...rest }: RegisterControllerRecord) {
  return { ...rest, endpoints: endPoints }
}

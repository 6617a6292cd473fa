import { DURABILITY_FEATURE } from '../controller/feature-names.ts'
import { MetadataDelta } from '../metadata/delta.ts'
import type { MetadataImage, PartitionImage, TopicImage } from '../metadata/image.ts'
import {
  type MetadataRecord,
  type PartitionChangeRecord,
  partitionChange,
  type PartitionRecord,
} from '../metadata/records.ts'
import type {
  AssignReplicasToDirsRequest,
  AssignReplicasToDirsResponse,
} from '../protocol/apis/assign-replicas-to-dirs.ts'
import { LOST_DIRECTORY } from '../replica/directory-reports.ts'
import { topicIdOf } from './replica-node.ts'
import type { AlterPartitionRequest, AlterPartitionResponse } from '../protocol/apis/alter-partition.ts'
import { ErrorCode } from '../protocol/errors.ts'

/**
 * The dumb version of the controller, for tests of replicas: it never fails, elects from the ISR only, and decides at
 * once. Whoever wants to hear of an image asks for `image` after a change.
 */
export class PlayedController {
  image: MetadataImage
  /** Every ISR that was decided, as lines. */
  readonly decided: string[] = []
  onImage: () => void = () => {}
  #nextEpoch = 1000

  constructor(image: MetadataImage) {
    this.image = image
  }

  commit(...records: MetadataRecord[]): void {
    if (records.length === 0) return
    const delta = new MetadataDelta(this.image)
    for (const record of records) delta.replay(record)
    const offset = this.image.position.offset + records.length
    this.image = delta.apply({ offset, epoch: 1, timestampMs: 1000 + offset })
    this.onImage()
  }

  /**
   * A process of the broker has come up: returns its epoch. It is fenced until `unfence`, and leaves the ISRs unless it is
   * known to have kept all that it had on disk.
   */
  register(brokerId: number, incarnationId: string, { staysInSync = false } = {}): number {
    const brokerEpoch = this.#nextEpoch++
    const value = {
      brokerId,
      brokerEpoch,
      isMigratingZkBroker: false,
      incarnationId,
      endPoints: [],
      features: [{ name: DURABILITY_FEATURE, minSupportedVersion: 0, maxSupportedVersion: 1 }],
      rack: `zone-${brokerId}`,
      fenced: true,
      inControlledShutdown: false,
      logDirs: [],
      cordonedLogDirs: null,
      outOfSpace: 0,
    }
    this.commit({ type: 'RegisterBroker', value }, ...(staysInSync ? [] : this.#without(brokerId)))
    return brokerEpoch
  }

  unfence(brokerId: number): void {
    this.#change(brokerId, -1)
    this.commit(...this.#electWith(brokerId))
  }

  /** The broker is gone: it leaves every ISR that it is not alone in, and what it led is led by another. */
  fence(brokerId: number): void {
    this.#change(brokerId, 1)
    this.commit(...this.#without(brokerId))
  }

  lead(topic: string, leader: number, partitionId = 0): void {
    this.change(topic, { leader }, partitionId)
  }

  change(topic: string, change: Partial<PartitionChangeRecord>, partitionId = 0): void {
    const topicId = this.image.topic(topic)?.topicId as string
    this.commit(partitionChange({ topicId, partitionId, ...change }))
  }

  alterPartition(request: AlterPartitionRequest): AlterPartitionResponse {
    const nothing = { throttleTimeMs: 0, topics: [] }
    if (this.image.broker(request.brokerId)?.brokerEpoch !== request.brokerEpoch) {
      return { ...nothing, errorCode: ErrorCode.STALE_BROKER_EPOCH }
    }
    const topics = request.topics.map(({ topicId, partitions }) => ({
      topicId,
      partitions: partitions.map((asked) => {
        const errorCode = this.#alter(request.brokerId, topicId, asked)
        const now = this.image.topicById(topicId)?.partitions[asked.partitionIndex]
        return {
          partitionIndex: asked.partitionIndex,
          errorCode,
          leaderId: now?.leader ?? -1,
          leaderEpoch: now?.leaderEpoch ?? -1,
          isr: now?.isr ?? [],
          leaderRecoveryState: 0,
          partitionEpoch: now?.partitionEpoch ?? -1,
        }
      }),
    }))
    return { throttleTimeMs: 0, errorCode: 0, topics }
  }

  /** A replica in no directory that works leaves the ISR, and leads no more. */
  assignReplicasToDirs(request: AssignReplicasToDirsRequest): AssignReplicasToDirsResponse {
    for (const { id, topics } of request.directories) {
      for (const { topicId, partitions } of topics) {
        for (const { partitionIndex } of partitions) this.#assign(request.brokerId, id, topicId, partitionIndex)
      }
    }
    return { throttleTimeMs: 0, errorCode: 0, directories: [] }
  }

  #assign(brokerId: number, directory: string, topicId: string, partitionId: number): void {
    const partition = this.image.topicById(topicId)?.partitions[partitionId]
    if (partition === undefined) return
    const { replicas } = partition
    const directories = replicas.map((id, index) =>
      id === brokerId ? directory : (partition.directories[index] ?? topicIdOf(100 + id)),
    )
    const isr = directory === LOST_DIRECTORY ? partition.isr.filter((id) => id !== brokerId) : partition.isr
    const led = isr.includes(partition.leader) ? {} : { leader: isr[0] ?? -1 }
    this.commit(partitionChange({ topicId, partitionId, directories, isr, ...led }))
  }

  #alter(
    brokerId: number,
    topicId: string,
    asked: AlterPartitionRequest['topics'][number]['partitions'][number],
  ): number {
    const topic = this.image.topicById(topicId)
    const now = topic?.partitions[asked.partitionIndex]
    if (topic === undefined || now === undefined) return ErrorCode.UNKNOWN_TOPIC_ID
    if (now.leader !== brokerId || asked.leaderEpoch < now.leaderEpoch) return ErrorCode.FENCED_LEADER_EPOCH
    if (asked.partitionEpoch !== now.partitionEpoch) return ErrorCode.INVALID_UPDATE_VERSION
    const isEligible = asked.newIsrWithEpochs.every(({ brokerId: id, brokerEpoch }) => {
      const broker = this.image.broker(id)
      return broker?.fenced === false && (brokerEpoch === -1 || brokerEpoch === broker.brokerEpoch)
    })
    if (!isEligible) return ErrorCode.INELIGIBLE_REPLICA
    const isr = asked.newIsrWithEpochs.map(({ brokerId: id }) => id)
    this.decided.push(`${topic.name}-${asked.partitionIndex} isr=${isr.toSorted((a, b) => a - b).join(',')}`)
    this.commit(partitionChange({ topicId, partitionId: asked.partitionIndex, isr }))
    return ErrorCode.NONE
  }

  #change(brokerId: number, fenced: number): void {
    const brokerEpoch = this.image.broker(brokerId)?.brokerEpoch ?? -1
    this.commit({
      type: 'BrokerRegistrationChange',
      value: {
        brokerId,
        brokerEpoch,
        fenced,
        inControlledShutdown: 0,
        logDirs: [],
        cordonedLogDirs: null,
        outOfSpace: -1,
      },
    })
  }

  #without(brokerId: number): MetadataRecord[] {
    return this.#each((partition) => {
      const isr = partition.isr.length > 1 ? partition.isr.filter((id) => id !== brokerId) : partition.isr
      const alive = isr.find((id) => id !== brokerId && this.image.broker(id)?.fenced === false)
      const led = partition.leader === brokerId ? { leader: alive ?? -1 } : {}
      return isr.length < partition.isr.length || partition.leader === brokerId ? { isr, ...led } : null
    })
  }

  #electWith(brokerId: number): MetadataRecord[] {
    return this.#each(({ leader, isr }) => (leader < 0 && isr.includes(brokerId) ? { leader: brokerId } : null))
  }

  #each(changeOf: (partition: PartitionImage) => Partial<PartitionChangeRecord> | null): MetadataRecord[] {
    const records: MetadataRecord[] = []
    for (const { topicId, partitions } of this.image.topicsByName.values() as Iterable<TopicImage>) {
      for (const [partitionId, partition] of partitions.entries()) {
        const change = changeOf(partition)
        if (change !== null) records.push(partitionChange({ topicId, partitionId, ...change }))
      }
    }
    return records
  }
}

export function newPartition(
  topicId: string,
  partitionId: number,
  { replicas, ...more }: Partial<PartitionRecord> & { readonly replicas: readonly number[] },
): MetadataRecord {
  const value = {
    partitionId,
    topicId,
    replicas: [...replicas],
    isr: [...replicas],
    removingReplicas: [],
    addingReplicas: [],
    leader: replicas[0] ?? -1,
    leaderRecoveryState: 0,
    leaderEpoch: 0,
    partitionEpoch: 0,
    directories: [],
    eligibleLeaderReplicas: null,
    lastKnownElr: null,
    ...more,
  }
  return { type: 'Partition', value }
}

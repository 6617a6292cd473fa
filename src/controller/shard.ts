import { assert } from '../base/assert.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import { MetadataDelta } from '../metadata/delta.ts'
import type { ImagePosition, MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import { AllocateProducerIds } from '../protocol/apis/allocate-producer-ids.ts'
import { AlterConfigs } from '../protocol/apis/alter-configs.ts'
import { AlterPartition } from '../protocol/apis/alter-partition.ts'
import { AlterPartitionReassignments } from '../protocol/apis/alter-partition-reassignments.ts'
import { AssignReplicasToDirs } from '../protocol/apis/assign-replicas-to-dirs.ts'
import { BrokerHeartbeat } from '../protocol/apis/broker-heartbeat.ts'
import { BrokerRegistration } from '../protocol/apis/broker-registration.ts'
import { ControllerRegistration } from '../protocol/apis/controller-registration.ts'
import { CreatePartitions } from '../protocol/apis/create-partitions.ts'
import { CreateTopics } from '../protocol/apis/create-topics.ts'
import { DeleteTopics } from '../protocol/apis/delete-topics.ts'
import { ElectLeaders } from '../protocol/apis/elect-leaders.ts'
import { IncrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import { ListPartitionReassignments } from '../protocol/apis/list-partition-reassignments.ts'
import { UnregisterBroker } from '../protocol/apis/unregister-broker.ts'
import { UnregisterController } from '../protocol/apis/unregister-controller.ts'
import { UpdateFeatures } from '../protocol/apis/update-features.ts'
import type { AnyApi, RequestOf, ResponseOf } from '../protocol/schema.ts'
import { alterConfigs, incrementalAlterConfigs } from './alter-configs.ts'
import { alterPartition } from './alter-partition.ts'
import { BrokerSessions } from './broker-sessions.ts'
import { fence } from './brokers.ts'
import type { BrokerContext } from './config-view.ts'
import { registerController, unregisterController } from './controllers.ts'
import { createPartitions } from './create-partitions.ts'
import { createTopics } from './create-topics.ts'
import { type Decision, type DecisionContext, type Due, NOTHING_DUE } from './decision.ts'
import { deleteTopics } from './delete-topics.ts'
import { assignReplicasToDirs } from './directories.ts'
import { DueWork } from './due.ts'
import { electLeaders } from './elect-leaders.ts'
import type { Ruling } from './elections.ts'
import { updateFeatures } from './features.ts'
import { allocateProducerIds } from './producer-ids.ts'
import { heartbeat } from './heartbeat.ts'
import { alterReassignments, listReassignments } from './reassignments.ts'
import { registerBroker, unregisterBroker } from './registration.ts'
import { CollidingNames } from './topic-names.ts'

export interface ShardOptions {
  readonly clusterId: string
  /** This node, and what it was started with. */
  readonly broker: BrokerContext
  /** 16 fresh bytes in Kafka's print form: topic ids. */
  readonly newId: () => string
}

/** When a request is decided on. */
export interface Moment {
  /** Version of the request; the newest one when it did not come over the wire. */
  readonly version: number
  /** Monotonic. */
  readonly nowMs: number
  /** The offset that the first record would have. */
  readonly nextOffset: number
}

/** The APIs that the controller decides on. */
export const controllerApis = [
  AllocateProducerIds,
  AlterConfigs,
  AlterPartition,
  AlterPartitionReassignments,
  AssignReplicasToDirs,
  BrokerHeartbeat,
  BrokerRegistration,
  ControllerRegistration,
  CreatePartitions,
  CreateTopics,
  DeleteTopics,
  ElectLeaders,
  IncrementalAlterConfigs,
  ListPartitionReassignments,
  UnregisterBroker,
  UnregisterController,
  UpdateFeatures,
] as const
export type ControllerApi = (typeof controllerApis)[number]

/**
 * The active controller: decides on requests by the newest image, which may run ahead of what is committed. Life cycle:
 * made when this node becomes active, with the image of everything in the log; dropped when it is not active any more.
 * `handle`, `tick` and `brokerLost` change no image; `apply` alone does, with the records that they returned.
 */
export class ControllerShard {
  readonly #options: ShardOptions
  readonly #sessions: BrokerSessions
  readonly #due: DueWork
  readonly #collidingNames: CollidingNames
  #image: MetadataImage

  constructor(options: ShardOptions, image: MetadataImage, nowMs: number) {
    this.#options = options
    this.#image = image
    this.#sessions = new BrokerSessions(image, nowMs)
    this.#due = new DueWork(this.#sessions, nowMs)
    this.#collidingNames = new CollidingNames(image)
  }

  get image(): MetadataImage {
    return this.#image
  }

  handle<A extends ControllerApi>(api: A, request: RequestOf<A>, moment: Moment): Decision<ResponseOf<A>> {
    const context: DecisionContext = { ...this.#options, ...moment, image: this.#image }
    return this.#decide(api, request, context) as Decision<ResponseOf<A>>
  }

  #decide(api: AnyApi, request: unknown, context: DecisionContext): Decision<unknown> {
    switch (api.key) {
      case AllocateProducerIds.key:
        return allocateProducerIds(context, request as RequestOf<typeof AllocateProducerIds>)
      case AlterConfigs.key:
        return alterConfigs(context, request as RequestOf<typeof AlterConfigs>)
      case AlterPartition.key:
        return alterPartition(context, request as RequestOf<typeof AlterPartition>)
      case AlterPartitionReassignments.key:
        return alterReassignments(context, request as RequestOf<typeof AlterPartitionReassignments>)
      case AssignReplicasToDirs.key:
        return assignReplicasToDirs(context, request as RequestOf<typeof AssignReplicasToDirs>)
      case BrokerHeartbeat.key:
        return heartbeat(context, this.#sessions, request as RequestOf<typeof BrokerHeartbeat>)
      case BrokerRegistration.key:
        return registerBroker(context, this.#sessions, request as RequestOf<typeof BrokerRegistration>)
      case ControllerRegistration.key:
        return registerController(context, request as RequestOf<typeof ControllerRegistration>)
      case CreatePartitions.key:
        return createPartitions(context, request as RequestOf<typeof CreatePartitions>)
      case CreateTopics.key:
        return createTopics(context, this.#collidingNames, request as RequestOf<typeof CreateTopics>)
      case DeleteTopics.key:
        return deleteTopics(context, request as RequestOf<typeof DeleteTopics>)
      case ElectLeaders.key:
        return electLeaders(context, request as RequestOf<typeof ElectLeaders>)
      case IncrementalAlterConfigs.key:
        return incrementalAlterConfigs(context, request as RequestOf<typeof IncrementalAlterConfigs>)
      case ListPartitionReassignments.key:
        return listReassignments(context, request as RequestOf<typeof ListPartitionReassignments>)
      case UnregisterBroker.key:
        return unregisterBroker(context, this.#sessions, request as RequestOf<typeof UnregisterBroker>)
      case UnregisterController.key:
        return unregisterController(context, request as RequestOf<typeof UnregisterController>)
      case UpdateFeatures.key:
        return updateFeatures(context, request as RequestOf<typeof UpdateFeatures>)
      default:
        assert(false, `${api.name} is not decided by the controller`)
    }
  }

  /**
   * What is due without a request: silent brokers are fenced, leaderships balanced. To be asked again after its records
   * are applied, until there are none; a few times within a broker's session.
   */
  tick(nowMs: number): Due {
    return this.#due.next(this.#ruling(), nowMs)
  }

  /** The process that registered with this epoch is known to be dead: nobody waits for its session to end. */
  brokerLost(brokerId: number, brokerEpoch: number): Due {
    const broker = this.#image.broker(brokerId)
    if (broker?.brokerEpoch !== brokerEpoch) return NOTHING_DUE
    this.#sessions.forget(brokerId)
    return broker.fenced ? NOTHING_DUE : fence(this.#ruling(), broker, 'its process is gone')
  }

  #ruling(): Ruling {
    return { image: this.#image, broker: this.#options.broker }
  }

  /** The records of a decision, in order, are in the log: the next image, at `position`. */
  apply(records: readonly MetadataRecord[], position: ImagePosition): MetadataChanges {
    const delta = new MetadataDelta(this.#image)
    for (const record of records) delta.replay(record)
    this.#image = delta.apply(position)
    this.#collidingNames.update(delta.changes)
    return delta.changes
  }
}

import { LOST_DIRECTORY } from '../../controller/partition-records.ts'
import type { MetadataImage, PartitionImage } from '../../metadata/image.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { ClientConnection } from '../connections/client-connection.ts'
import { type Endpoints, isAlive } from '../endpoints.ts'

/** A partition as clients of one listener see it. */
export interface PartitionView {
  readonly errorCode: number
  readonly partitionIndex: number
  readonly leaderId: number
  readonly leaderEpoch: number
  readonly replicaNodes: readonly number[]
  readonly isrNodes: readonly number[]
  readonly offlineReplicas: readonly number[]
}

/** Shows partitions; asks once per request and broker whether it can be reached. */
export class PartitionViewer {
  readonly #image: MetadataImage
  readonly #endpoints: Endpoints
  readonly #connection: ClientConnection
  readonly #reachable = new Map<number, boolean>()

  constructor(image: MetadataImage, endpoints: Endpoints, connection: ClientConnection) {
    this.#image = image
    this.#endpoints = endpoints
    this.#connection = connection
  }

  view(partitionIndex: number, partition: PartitionImage): PartitionView {
    const { leader, leaderEpoch, replicas, isr, directories } = partition
    const leads = leader >= 0 && isAlive(this.#image.broker(leader))
    const reachable = leads && this.#isReachable(leader)
    return {
      errorCode: reachable ? ErrorCode.NONE : leads ? ErrorCode.LISTENER_NOT_FOUND : ErrorCode.LEADER_NOT_AVAILABLE,
      partitionIndex,
      leaderId: reachable ? leader : -1,
      leaderEpoch,
      replicaNodes: replicas,
      isrNodes: isr,
      offlineReplicas: replicas.filter((nodeId, index) => {
        return directories[index] === LOST_DIRECTORY || !isAlive(this.#image.broker(nodeId))
      }),
    }
  }

  #isReachable(nodeId: number): boolean {
    let reachable = this.#reachable.get(nodeId)
    if (reachable === undefined) {
      reachable = this.#endpoints.of(this.#connection, nodeId) !== null
      this.#reachable.set(nodeId, reachable)
    }
    return reachable
  }
}

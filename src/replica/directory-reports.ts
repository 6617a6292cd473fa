import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import { AssignReplicasToDirs, type AssignReplicasToDirsRequest } from '../protocol/apis/assign-replicas-to-dirs.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { ControllerWay } from './isr-proposals.ts'
import type { Partition } from './partition.ts'

/** In no directory that works (KIP-858). */
export const LOST_DIRECTORY = 'AAAAAAAAAAAAAAAAAAAAAg'

/** Without an answer it is said again after this, then less often. */
const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 5000

export interface ReportOptions {
  readonly nodeId: number
  /** Of the data folder. */
  readonly directoryId: string
  readonly controller: ControllerWay
  brokerEpoch(): number
}

type DirectoryInput = AssignReplicasToDirsRequest['directories'][number]

/**
 * Tells the controller of replicas whose logs have failed or could not be opened, so that they neither lead nor count;
 * and of those that are well again. All that is to be told goes into one request, until it has been heard.
 */
export class DirectoryReports {
  readonly #env: Env
  readonly #options: ReportOptions
  readonly #waiting = new Set<Partition>()
  #isAsking = false
  #failures = 0
  #timer: Timer | null = null
  #isStopped = false

  constructor(env: Env, options: ReportOptions) {
    this.#env = env
    this.#options = options
  }

  /** The replica is offline, or is not any more. */
  changed(partition: Partition): void {
    this.#waiting.add(partition)
    if (!this.#isAsking && this.#timer === null) this.#askAfter(0)
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  #askAfter(delayMs: number): void {
    if (this.#isStopped) return
    this.#timer = this.#env.timers.after(delayMs, () => {
      this.#timer = null
      void this.#ask()
    })
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    const told = [...this.#waiting].filter(({ removed }) => !removed)
    this.#waiting.clear()
    const isHeard = told.length === 0 || (await this.#tell(told))
    this.#isAsking = false
    this.#failures = isHeard ? 0 : this.#failures + 1
    if (!isHeard) for (const partition of told) this.#waiting.add(partition)
    if (this.#waiting.size === 0) return
    this.#askAfter(isHeard ? 0 : Math.min(RETRY_MS_MIN * 2 ** (this.#failures - 1), RETRY_MS_MAX))
  }

  async #tell(partitions: readonly Partition[]): Promise<boolean> {
    const { nodeId: brokerId, directoryId, controller, brokerEpoch } = this.#options
    const lost = partitions.filter(({ isOffline }) => isOffline)
    const well = partitions.filter(({ isOffline }) => !isOffline)
    const directories = [directoryOf(LOST_DIRECTORY, lost), directoryOf(directoryId, well)].filter(hasTopics)
    try {
      const request = { brokerId, brokerEpoch: brokerEpoch(), directories }
      const { errorCode } = await controller.send(AssignReplicasToDirs, request)
      return errorCode === ErrorCode.NONE
    } catch (error) {
      this.#env.log.warn('The controller did not hear which replicas are offline', { reason: String(error) })
      return false
    }
  }
}

function hasTopics({ topics }: DirectoryInput): boolean {
  return topics.length > 0
}

function directoryOf(id: string, partitions: readonly Partition[]): DirectoryInput {
  const topics = new Map<string, { partitionIndex: number; isDamaged: boolean }[]>()
  for (const { topicId, topicPartition, isDamaged } of partitions) {
    const indexes = topics.get(topicId) ?? []
    topics.set(topicId, indexes)
    indexes.push({ partitionIndex: topicPartition.partition, isDamaged })
  }
  return { id, topics: Array.from(topics, ([topicId, indexes]) => ({ topicId, partitions: indexes })) }
}

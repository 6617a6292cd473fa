import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import type { PartitionLeader } from '../partition/leader.ts'
import type { Effect } from '../partition/types.ts'
import { AlterPartition, type AlterPartitionResponse } from '../protocol/apis/alter-partition.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'
import type { AssignReplicasToDirs } from '../protocol/apis/assign-replicas-to-dirs.ts'
import type { Partition } from './partition.ts'

export type ControllerRequests = typeof AlterPartition | typeof AssignReplicasToDirs

/** The way to the active controller. A rejection: nobody knows whether it happened. */
export interface ControllerWay {
  send<A extends ControllerRequests>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>>
}

type Proposal = Extract<Effect, { type: 'propose-isr' }>
type TopicInput = RequestOf<typeof AlterPartition>['topics'][number]
type PartitionResult = AlterPartitionResponse['topics'][number]['partitions'][number]

/** Without a decision it is asked for again after this, then less often. */
const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 1000

interface Pending {
  readonly partition: Partition
  readonly leader: PartitionLeader
  readonly proposal: Proposal
}

/** Said by a controller that has looked, and has not done it: what was committed last stands (KIP-497). */
const REFUSALS: readonly number[] = [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED]
/** We are behind what has been decided already: the image will tell. */
const OUTDATED: readonly number[] = [
  ErrorCode.INVALID_REQUEST,
  ErrorCode.INVALID_UPDATE_VERSION,
  ErrorCode.FENCED_LEADER_EPOCH,
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ErrorCode.UNKNOWN_TOPIC_ID,
  ErrorCode.NEW_LEADER_ELECTED,
]

/** How versions before 3 name the members; they are not used. */
const NO_EPOCHS: readonly number[] = []

export interface ProposalOptions {
  readonly nodeId: number
  readonly controller: ControllerWay
  brokerEpoch(): number
}

/**
 * What the leaders here want their ISRs to be, on the way to the controller: all of them in one request (AlterPartition),
 * one request at a time, until each has been decided or is no longer asked for.
 */
export class IsrProposals {
  readonly #env: Env
  readonly #options: ProposalOptions
  readonly #waiting = new Map<Partition, Pending>()
  #isAsking = false
  #failures = 0
  #timer: Timer | null = null
  #isStopped = false

  constructor(env: Env, options: ProposalOptions) {
    this.#env = env
    this.#options = options
  }

  /** In the place of what the same leader proposed before. */
  propose(partition: Partition, proposal: Proposal): void {
    const { leader } = partition
    if (leader === null) return
    this.#waiting.set(partition, { partition, leader, proposal })
    if (this.#isAsking || this.#timer !== null || this.#isStopped) return
    this.#isAsking = true
    // After the present event: those of other partitions go along.
    void Promise.resolve().then(() => this.#ask())
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    const asked = [...this.#waiting.values()].filter(isStillWanted)
    this.#waiting.clear()
    const isDone = asked.length === 0 || (await this.#decide(asked))
    this.#isAsking = false
    if (this.#isStopped) return
    this.#failures = isDone ? 0 : this.#failures + 1
    if (this.#waiting.size > 0) this.#askLater()
  }

  #askLater(): void {
    const delayMs = this.#failures === 0 ? 0 : Math.min(RETRY_MS_MIN * 2 ** (this.#failures - 1), RETRY_MS_MAX)
    this.#timer = this.#env.timers.after(delayMs, () => {
      this.#timer = null
      void this.#ask()
    })
  }

  /** False: no decision on some of them. They wait again, unless their leaders have proposed something else meanwhile. */
  async #decide(asked: readonly Pending[]): Promise<boolean> {
    const answer = await this.#send(asked)
    const undecided = asked.filter((pending) => !this.#react(pending, answer))
    for (const pending of undecided) {
      if (!this.#waiting.has(pending.partition)) this.#waiting.set(pending.partition, pending)
    }
    return undecided.length === 0
  }

  async #send(asked: readonly Pending[]): Promise<AlterPartitionResponse | null> {
    const { nodeId: brokerId, controller, brokerEpoch } = this.#options
    try {
      const request = { brokerId, brokerEpoch: brokerEpoch(), topics: topicsOf(asked) }
      return await controller.send(AlterPartition, request)
    } catch (error) {
      this.#env.log.warn('The controller did not decide on in-sync replicas', { reason: String(error) })
      return null
    }
  }

  /** Whether this settles it. */
  #react({ partition, leader, proposal }: Pending, answer: AlterPartitionResponse | null): boolean {
    if (answer === null || answer.errorCode !== ErrorCode.NONE) return false
    const result = resultFor(answer, partition)
    if (result === undefined) return false
    if (REFUSALS.includes(result.errorCode)) {
      partition.isrRefused(leader)
      return true
    }
    if (result.errorCode === ErrorCode.NONE) {
      // Nothing had to be changed: then no image will come to say so.
      if (result.partitionEpoch <= proposal.partitionEpoch) partition.isrRefused(leader)
      return true
    }
    return OUTDATED.includes(result.errorCode)
  }
}

function isStillWanted({ partition, leader, proposal }: Pending): boolean {
  return partition.leader === leader && leader.partitionEpoch === proposal.partitionEpoch
}

function resultFor(
  answer: AlterPartitionResponse,
  { topicId, topicPartition }: Partition,
): PartitionResult | undefined {
  return answer.topics
    .find((topic) => topic.topicId === topicId)
    ?.partitions.find(({ partitionIndex }) => partitionIndex === topicPartition.partition)
}

function topicsOf(asked: readonly Pending[]): TopicInput[] {
  const topics = new Map<string, TopicInput['partitions'][number][]>()
  for (const { partition, leader, proposal } of asked) {
    const { topicId, topicPartition } = partition
    const partitions = topics.get(topicId) ?? []
    topics.set(topicId, partitions)
    partitions.push({
      partitionIndex: topicPartition.partition,
      leaderEpoch: leader.leaderEpoch,
      newIsr: NO_EPOCHS,
      newIsrWithEpochs: proposal.isr.map(({ id: brokerId, brokerEpoch }) => ({ brokerId, brokerEpoch })),
      leaderRecoveryState: 0,
      partitionEpoch: proposal.partitionEpoch,
    })
  }
  return Array.from(topics, ([topicId, partitions]) => ({ topicId, partitions }))
}

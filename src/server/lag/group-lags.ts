import type { Env } from '../../env/env.ts'
import type { Address } from '../../env/net.ts'
import { type LagFigures, lagFigures, type PositionFacts } from '../../group/lag.ts'
import type { GroupStanding, Standing } from '../../group/standing.ts'
import type { MetadataImage } from '../../metadata/image.ts'
import { NO_TOPIC_ID } from '../../model/ids.ts'
import { ListOffsets, type ListOffsetsRequest, type ListOffsetsResponse } from '../../protocol/apis/list-offsets.ts'
import type { ListOffsetsAnswer } from '../../replica/list-offsets.ts'
import type { ReplicaManager } from '../../replica/replica-manager.ts'
import { ClientError } from '../../rpc/errors.ts'
import type { Peers } from '../../rpc/peers.ts'

export interface GroupLagsParts {
  readonly nodeId: number
  readonly peers: Peers
  image(): MetadataImage
  addressOf(nodeId: number): Address | null
  replicas(): Pick<ReplicaManager, 'listOffsetsHere'>
}

/** Where a group stands in one partition; without figures where the leader has not answered. */
export interface PositionLag extends Standing {
  readonly figures: LagFigures | null
}

export interface GroupLag extends Omit<GroupStanding, 'offsets'> {
  readonly offsets: readonly PositionLag[]
}

type Facts = Map<string, PositionFacts>
type Request = ListOffsetsRequest
interface Asked {
  readonly offset: number
  readonly sinceMs: number
}

const LATEST = -1
/** "Where the log ended then does not matter." */
const NO_TIME = -1
const LANE = 'lag'
/** From it on the request has room for tagged fields. */
const VERSIONS = [6, 11] as const
/** A leader that has not answered by then leaves its partitions without figures. */
const ANSWER_MS_MAX = 2000
/** In one request. */
const POSITIONS_MAX = 5000

/** Completes where groups stand with what the leaders of the partitions find there: one question to each, when somebody reads. */
export class GroupLags {
  readonly #env: Env
  readonly #parts: GroupLagsParts

  constructor(env: Env, parts: GroupLagsParts) {
    this.#env = env
    this.#parts = parts
  }

  /** Without a pace, no trend: that takes a look-up in the time index. */
  async of(groups: readonly GroupStanding[], { withPace = true } = {}): Promise<GroupLag[]> {
    const facts = await this.#ask(
      groups.flatMap(({ offsets }) => offsets),
      withPace,
    )
    const nowMs = this.#env.clock.wallMs()
    return groups.map((group) => ({
      ...group,
      offsets: group.offsets.map((standing) => {
        const found = facts.get(keyOf(standing, asked(standing, withPace)))
        return { ...standing, figures: found === undefined ? null : lagFigures(standing, found, nowMs) }
      }),
    }))
  }

  /** By leader. What has no leader, or is of a topic that is no more, is left out. */
  async #ask(standings: readonly Standing[], withPace: boolean): Promise<Facts> {
    const byLeader = new Map<number, Questions>()
    const image = this.#parts.image()
    for (const standing of standings) {
      const { topic, topicId, partition } = standing
      const leader = image.partition(topic, partition)?.leader ?? -1
      const isOther = topicId !== NO_TOPIC_ID && image.topic(topic)?.topicId !== topicId
      if (leader < 0 || isOther) continue
      const questions = byLeader.get(leader) ?? new Questions()
      byLeader.set(leader, questions)
      questions.add(topic, partition, asked(standing, withPace))
    }
    const facts: Facts = new Map()
    await Promise.all(
      [...byLeader].map(async ([leader, questions]) => {
        for (const request of questions.requests()) if (!(await this.#askLeader(leader, request, facts))) return
      }),
    )
    return facts
  }

  /** Whether it answered. */
  async #askLeader(leader: number, request: Request, facts: Facts): Promise<boolean> {
    try {
      const response = await this.#send(leader, request)
      if (response === null) return false
      for (const { name, partitions } of response.topics) {
        for (const answer of partitions) takeIn(facts, name, answer)
      }
      return true
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      return false
    }
  }

  async #send(leader: number, request: Request): Promise<ListOffsetsAnswer | ListOffsetsResponse | null> {
    if (leader === this.#parts.nodeId) return this.#within(this.#parts.replicas().listOffsetsHere(request))
    const address = this.#parts.addressOf(leader)
    if (address === null) return null
    const options = { versions: VERSIONS, timeoutMs: ANSWER_MS_MAX }
    return this.#parts.peers.request(address, LANE, ListOffsets, request, options)
  }

  /** A disk may stand still here, too. */
  async #within<T>(answer: Promise<T>): Promise<T | null> {
    const late = Promise.withResolvers<null>()
    const timer = this.#env.timers.after(ANSWER_MS_MAX, () => late.resolve(null))
    try {
      return await Promise.race([answer, late.promise])
    } finally {
      timer.cancel()
    }
  }
}

/** What one leader is asked. */
class Questions {
  readonly #topics = new Map<string, Map<number, Asked[]>>()

  add(topic: string, partition: number, asked: Asked): void {
    const partitions = this.#topics.get(topic) ?? new Map<number, Asked[]>()
    this.#topics.set(topic, partitions)
    const positions = partitions.get(partition)
    if (positions === undefined) partitions.set(partition, [asked])
    else positions.push(asked)
  }

  /** A partition comes once in each. */
  *requests(): Generator<Request> {
    let topics: { name: string; partitions: AskedPartition[] }[] = []
    let count = 0
    for (const [name, partitions] of this.#topics) {
      for (const [partitionIndex, positions] of partitions) {
        for (let from = 0; from < positions.length; from += POSITIONS_MAX) {
          const part = positions.slice(from, from + POSITIONS_MAX)
          if (count + part.length > POSITIONS_MAX) {
            yield request(topics)
            topics = []
            count = 0
          }
          if (topics.at(-1)?.name !== name) topics.push({ name, partitions: [] })
          const asked = { partitionIndex, currentLeaderEpoch: -1, timestamp: LATEST, positions: part }
          topics.at(-1)?.partitions.push(asked)
          count += part.length
        }
      }
    }
    if (count > 0) yield request(topics)
  }
}

type AskedPartition = Request['topics'][number]['partitions'][number]
type Answer = ListOffsetsAnswer['topics'][number]['partitions'][number]

function request(topics: Request['topics']): Request {
  return { replicaId: -1, isolationLevel: 0, timeoutMs: ANSWER_MS_MAX, topics }
}

/** A leader that does not know `positions` says nothing of them. */
function takeIn(facts: Facts, topic: string, { partitionIndex, errorCode, standing }: Answer): void {
  if (errorCode !== 0 || standing === undefined) return
  const { startOffset = -1, highWatermark: endOffset = -1 } = standing
  for (const { offset, sinceMs, recordMs, leftMs, endThen } of standing.positions) {
    facts.set(keyOf({ topic, partition: partitionIndex }, { offset, sinceMs }), {
      startOffset,
      endOffset,
      recordMs: recordMs < 0 ? null : recordMs,
      leftMs: leftMs < 0 ? Number.POSITIVE_INFINITY : leftMs,
      endThen,
    })
  }
}

function asked({ offset, sinceMs }: Standing, withPace: boolean): Asked {
  return { offset, sinceMs: withPace ? sinceMs : NO_TIME }
}

function keyOf({ topic, partition }: { topic: string; partition: number }, { offset, sinceMs }: Asked): string {
  return `${topic}-${partition}/${offset}/${sinceMs}`
}

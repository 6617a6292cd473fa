import { partitionForKey } from '../../src/coordinator/partition-for.ts'
import { structOf } from '../../src/protocol/layout.ts'
import { ApiVersions } from '../../src/protocol/apis/api-versions.ts'
import { DescribeConfigs } from '../../src/protocol/apis/describe-configs.ts'
import { DescribeGroups } from '../../src/protocol/apis/describe-groups.ts'
import { Fetch } from '../../src/protocol/apis/fetch.ts'
import { IncrementalAlterConfigs } from '../../src/protocol/apis/incremental-alter-configs.ts'
import { decodeResponse, encodeRequest } from '../../src/protocol/codec.ts'
import { OffsetCommit } from '../../src/protocol/apis/offset-commit.ts'
import type { AnyApi, RequestInput, ResponseOf } from '../../src/protocol/schema.ts'
import type { Server } from '../support/server.ts'
import { Channel, type Reply } from './channel.ts'
import { type Body, fitted, resolved, type Step } from './step.ts'

export const FENCE_TOPIC = 'fence'
/** A change of a config shows within this, also on a machine with much else to do. */
const SHOWN_MS = 30_000
const DEFAULT_CLIENT = 'differential'

/** What a step came to on one side. `sent` is the body with what this side had learned. */
export interface Outcome {
  readonly sent: Body
  readonly kind: 'answer' | 'closed' | 'no answer' | 'unreadable'
  readonly answer?: Body
  readonly error?: string
}

/** A request on its way. */
export interface Asked {
  readonly outcome: Promise<Outcome>
  settled: boolean
}

/** What a side needs of the node it talks to. */
export type ServerLike = Pick<Server, 'kind' | 'port' | 'address'>

/** One of the two servers: its connections, and what its answers told in this sequence. */
export class Side {
  readonly server: ServerLike
  readonly memory = new Map<string, unknown>()
  #channels = new Map<string, Channel>()
  #control: Channel | null = null
  #fences = 0
  #correlation = 0

  constructor(server: ServerLike) {
    this.server = server
  }

  async send(step: Step): Promise<Asked> {
    const sent = fitted(structOf(step.api.request), resolved(step.body, this.memory) as Body, step.version)
    const frame = this.#frame(step, sent)
    const channel = await this.#channel(step.channel ?? 'main')
    if (step.silent === true) {
      channel.sendOnly(frame)
      return { outcome: Promise.resolve({ sent, kind: 'no answer' }), settled: true }
    }
    const asked: { outcome: Promise<Outcome>; settled: boolean } = {
      settled: false,
      outcome: channel.send(frame).then((reply) => {
        asked.settled = true
        return read(step, sent, reply)
      }),
    }
    return asked
  }

  #frame(step: Step, sent: Body): Buffer {
    const clientId = step.clientId === undefined ? DEFAULT_CLIENT : step.clientId
    const header = { correlationId: ++this.#correlation, clientId }
    const frame = Buffer.concat(encodeRequest(step.api, step.version, header, sent))
    return step.spoil === undefined ? frame : step.spoil(frame)
  }

  /** The connection of that name; another one when it is gone, or is held up by a request that waits. */
  async #channel(name: string): Promise<Channel> {
    for (let own = name; ; own += "'") {
      const known = this.#channels.get(own)
      if (known !== undefined && !known.isClosed && known.isBusy) continue
      if (known !== undefined && !known.isClosed) return known
      const opened = await this.#open()
      this.#channels.set(own, opened)
      return opened
    }
  }

  /**
   * A connection that the server reads from. On one that it has not taken up yet a request would be overtaken by those that are sent
   * later on others.
   */
  async #open(): Promise<Channel> {
    const channel = await Channel.open(this.server.port)
    await this.#ask(channel, ApiVersions, 0, {})
    return channel
  }

  /** A request of the harness itself. */
  async call<A extends AnyApi>(api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>> {
    if (this.#control === null || this.#control.isClosed) this.#control = await Channel.open(this.server.port)
    return this.#ask(this.#control, api, version, body)
  }

  async #ask<A extends AnyApi>(
    channel: Channel,
    api: A,
    version: number,
    body: RequestInput<A>,
  ): Promise<ResponseOf<A>> {
    const header = { correlationId: ++this.#correlation, clientId: 'harness' }
    const reply = await channel.send(Buffer.concat(encodeRequest(api, version, header, body)))
    if (reply === 'closed') throw new Error(`${this.server.kind} closed the harness's own ${api.name}`)
    return decodeResponse(api, version, reply)
  }

  /**
   * Returns when this broker shows and has carried out what its controller has decided so far. A config of a topic of our own is
   * changed twice: when the second change shows, the publication of the first is over, and all that came before it.
   */
  async catchUp(): Promise<void> {
    await this.#showFence()
    await this.#showFence()
  }

  async #showFence(): Promise<void> {
    const value = String(1_000_000 + ++this.#fences)
    const configs = [{ name: 'retention.ms', configOperation: 0, value }]
    const resource = { resourceType: 2, resourceName: FENCE_TOPIC }
    const change = { resources: [{ ...resource, configs }], validateOnly: false }
    const { responses } = await this.call(IncrementalAlterConfigs, 1, change)
    if (responses[0]?.errorCode !== 0) throw new Error(`${this.server.kind}: ${JSON.stringify(responses)}`)
    const ask = { resources: [{ ...resource, configurationKeys: ['retention.ms'] }] }
    const deadline = performance.now() + SHOWN_MS
    while (performance.now() < deadline) {
      const { results } = await this.call(DescribeConfigs, 4, ask)
      if (results[0]?.configs[0]?.value === value) return
    }
    throw new Error(`${this.server.kind} does not show a change of a config`)
  }

  /**
   * Sends what may wait for other members, and returns when the coordinator has done for it all that it does without another request.
   * The first generation of a group is made by a timer, also where that is set to no time; every later one by a request.
   */
  async sendToGroup(step: Step): Promise<Asked> {
    const groupId = groupOf(step)
    const begins = WITHOUT_MEMBERS.has(await this.#stateOf(groupId))
    const asked = await this.send(step)
    await this.passGroup(groupId)
    const deadline = performance.now() + SHOWN_MS
    while (begins && (await this.#stateOf(groupId)) === 'PreparingRebalance') {
      if (performance.now() > deadline) throw new Error(`${this.server.kind} makes no first generation of ${groupId}`)
    }
    await this.passGroup(groupId)
    return asked
  }

  /** Whether members that leave now begin a rebalance. */
  async standsStill(groupId: string): Promise<boolean> {
    return (await this.#stateOf(groupId)) !== 'PreparingRebalance'
  }

  /**
   * Returns when the group is Empty, if its last member has left and that began a rebalance: where others were given an id only, it
   * ends by a timer of no time. (One that went on already ends by the timer that it had.)
   */
  async seeOff(groupId: string): Promise<void> {
    const deadline = performance.now() + SHOWN_MS
    for (;;) {
      const group = await this.#describe(groupId)
      if (group?.groupState !== 'PreparingRebalance' || group.members.length > 0) return
      if (performance.now() > deadline)
        throw new Error(`${this.server.kind} leaves ${groupId} rebalancing without members`)
    }
  }

  /**
   * Returns when the coordinator has looked at every request for the group that was sent before, and has sent the answers that those
   * set free: it does one thing after the other, and answers the second request of ours when all before has left.
   */
  async passGroup(groupId: string): Promise<void> {
    for (let i = 0; i < 2; i++) await this.#stateOf(groupId)
  }

  /** What the coordinator holds shows: Kafka shows of a group only what was there when its partition was last written to. */
  async showGroups(partitions: Iterable<number> = FENCE_GROUPS.keys()): Promise<void> {
    const commits = Array.from(partitions, (partition) => {
      const outside = { generationIdOrMemberEpoch: -1, memberId: '', groupId: FENCE_GROUPS[partition] as string }
      const partitionData = { partitionIndex: 0, committedOffset: ++this.#fences, committedMetadata: null }
      return this.call(OffsetCommit, 5, { ...outside, topics: [{ name: FENCE_TOPIC, partitions: [partitionData] }] })
    })
    await Promise.all(commits)
  }

  async #stateOf(groupId: string): Promise<string> {
    return (await this.#describe(groupId))?.groupState ?? ''
  }

  async #describe(groupId: string) {
    const shown = this.showGroups([partitionForKey(groupId, GROUP_PARTITIONS)])
    const [{ groups }] = await Promise.all([this.call(DescribeGroups, 5, { groups: [groupId] }), shown])
    return groups[0]
  }

  async endSequence(): Promise<void> {
    this.#hangUp()
    // A server holds on to so many sessions and no more: those of ended sequences are not to be among them.
    for (const [key, sessionId] of this.memory) {
      if (key.startsWith('session ')) await this.call(Fetch, 12, { ...LAST_FETCH, sessionId: sessionId as number })
    }
    this.memory.clear()
  }

  #hangUp(): void {
    for (const channel of this.#channels.values()) channel.close()
    this.#channels.clear()
  }

  close(): void {
    this.#hangUp()
    this.#control?.close()
  }
}

/** Ends a session. */
const LAST_FETCH = { maxWaitMs: 0, minBytes: 0, sessionEpoch: -1, topics: [], forgottenTopicsData: [] }

/** Of `__consumer_offsets`. */
export const GROUP_PARTITIONS = 4
/** A group of the harness's own for each. */
const FENCE_GROUPS = Array.from({ length: GROUP_PARTITIONS }, (_, partition) => {
  const names = Array.from({ length: 100 }, (_none, index) => `${FENCE_TOPIC}${index}`)
  return names.find((name) => partitionForKey(name, GROUP_PARTITIONS) === partition) as string
})

/** States of a group that has nobody yet. */
const WITHOUT_MEMBERS = new Set(['Empty', 'Dead', ''])

/** The group that a request is for; nothing has to be learned for it. */
export function groupOf({ body }: Step): string {
  return String(body['groupId'])
}

function read(step: Step, sent: Body, reply: Reply): Outcome {
  if (reply === 'closed') return { sent, kind: 'closed' }
  try {
    return { sent, kind: 'answer', answer: decodeResponse(step.api, step.version, reply) as Body }
  } catch (error) {
    return { sent, kind: 'unreadable', error: String(error) }
  }
}

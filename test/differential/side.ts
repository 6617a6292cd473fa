import { structOf } from '../../src/protocol/layout.ts'
import { DescribeConfigs } from '../../src/protocol/apis/describe-configs.ts'
import { DescribeGroups } from '../../src/protocol/apis/describe-groups.ts'
import { IncrementalAlterConfigs } from '../../src/protocol/apis/incremental-alter-configs.ts'
import { decodeResponse, encodeRequest } from '../../src/protocol/codec.ts'
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
      const opened = await Channel.open(this.server.port)
      this.#channels.set(own, opened)
      return opened
    }
  }

  /** A request of the harness itself. */
  async call<A extends AnyApi>(api: A, version: number, body: RequestInput<A>): Promise<ResponseOf<A>> {
    if (this.#control === null || this.#control.isClosed) this.#control = await Channel.open(this.server.port)
    const header = { correlationId: ++this.#correlation, clientId: 'harness' }
    const reply = await this.#control.send(Buffer.concat(encodeRequest(api, version, header, body)))
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

  /** Returns when the coordinator has looked at every request for the group that was sent before. */
  async passGroup(groupId: string): Promise<void> {
    for (let i = 0; i < 2; i++) await this.call(DescribeGroups, 5, { groups: [groupId] })
  }

  endSequence(): void {
    for (const channel of this.#channels.values()) channel.close()
    this.#channels.clear()
    this.memory.clear()
  }

  close(): void {
    this.endSequence()
    this.#control?.close()
  }
}

function read(step: Step, sent: Body, reply: Reply): Outcome {
  if (reply === 'closed') return { sent, kind: 'closed' }
  try {
    return { sent, kind: 'answer', answer: decodeResponse(step.api, step.version, reply) as Body }
  } catch (error) {
    return { sent, kind: 'unreadable', error: String(error) }
  }
}

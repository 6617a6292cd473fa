import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PartitionFollower } from './follower.ts'
import type { EpochEnd, FollowerInput } from './follower-types.ts'
import { PartitionLeader } from './leader.ts'
import type { Effect, EligibleBroker, Input, Registration } from './types.ts'

const IDS = [1, 2, 3]
const LAG_MS = 1000

/** What happens next, as numbers to be read in the light of what has happened before. */
const event = fc.record({
  kind: fc.constantFrom(
    ...['append', 'append', 'sync', 'exchange', 'exchange', 'exchange', 'fetch', 'deliver', 'deliver'],
    ...['decide', 'image', 'image', 'settle', 'tick', 'crash', 'fence', 'unfence', 'elect'],
  ),
  node: fc.constantFrom(...IDS),
  pick: fc.nat(1000),
})

test('no replica loses what was committed, and replicas of one history agree, whatever crashes and whoever leads', () => {
  const property = fc.property(
    fc.array(event, { minLength: 200, maxLength: 400 }),
    fc.constantFrom(1, 2),
    (events, min) => {
      const world = new World(min)
      for (const happening of events) world.happen(happening)
      world.converge()
    },
  )
  // Events stand for different things once others are gone: a failure is hardly made clearer by leaving some out.
  fc.assert(property, { numRuns: Number(process.env.MILLRACE_RUNS ?? 300), endOnFailure: true })
})

interface Item {
  readonly epoch: number
  readonly id: number
}

type Message =
  | { readonly type: 'fetch'; readonly from: Node; readonly life: number; readonly to: Node; readonly ask: Ask }
  | { readonly type: 'answer'; readonly to: Node; readonly life: number; readonly ask: Ask; readonly answer: Answer }

interface Ask {
  readonly follower: PartitionFollower
  readonly leaderEpoch: number
  readonly brokerEpoch: number
  readonly offset: number
  readonly lastEpoch: number
  readonly durable: number
}

interface Answer {
  readonly errorCode: number
  readonly diverging: EpochEnd | null
  readonly items: readonly Item[]
  readonly highWatermark: number
}

/** One process after the other on one disk. */
class Node {
  readonly id: number
  items: Item[] = []
  durable = 0
  highWatermark = 0
  /** Counts the processes. */
  life = 0
  brokerEpoch = 0
  leader: PartitionLeader | null = null
  follower: PartitionFollower | null = null
  asking: Ask | null = null

  constructor(id: number) {
    this.id = id
  }

  get end(): number {
    return this.items.length
  }

  /** The dumb version of `LeaderEpochs.endOffsetFor`. */
  endOf(epoch: number): EpochEnd {
    const last = this.items.findLastIndex((item) => item.epoch <= epoch)
    if (last < 0) return { leaderEpoch: epoch, endOffset: 0 }
    return { leaderEpoch: (this.items[last] as Item).epoch, endOffset: last + 1 }
  }
}

/** Controller, network and disks of one partition, as dumb as can be; it checks the invariants after every event. */
class World {
  readonly nodes = IDS.map((id) => new Node(id))
  readonly minInsync: number
  readonly messages: Message[] = []
  /** On their way to the controller. */
  proposals: { readonly leaderEpoch: number; readonly effect: Extract<Effect, { type: 'propose-isr' }> }[] = []
  /** What any leader has ever called committed. */
  readonly committed: Item[] = []
  /** The leader epoch in which each of them was first called so. */
  readonly committedIn: number[] = []
  nowMs = 0
  nextId = 0
  nextBrokerEpoch = 10
  // The controller's own.
  isr: readonly number[] = IDS
  leaderId = 1
  leaderEpoch = 0
  partitionEpoch = 0
  readonly fenced = new Set<number>()

  constructor(minInsync: number) {
    this.minInsync = minInsync
    for (const node of this.nodes) this.learn(node)
  }

  node(id: number): Node {
    return this.nodes[id - 1] as Node
  }

  happen({ kind, node: id, pick }: { kind: string; node: number; pick: number }): void {
    const node = this.node(id)
    this.nowMs += pick % 7
    // Whoever takes itself for the leader: there may be several, and one of them is right.
    if (kind === 'append') for (const each of this.nodes) this.append(each)
    if (kind === 'sync') this.sync(node)
    if (kind === 'fetch') this.fetch(node)
    if (kind === 'exchange') this.exchange(node)
    if (kind === 'settle') this.settle()
    if (kind === 'deliver' && this.messages.length > 0) this.deliver(pick % this.messages.length)
    if (kind === 'decide') this.decide(pick)
    if (kind === 'image') this.learn(node)
    if (kind === 'tick') this.tick(node, pick)
    if (kind === 'crash') this.crash(node, pick)
    if (kind === 'fence') this.fence(id)
    if (kind === 'unfence') this.unfence(id)
    if (kind === 'elect') this.elect(pick)
    this.check()
  }

  /** Everything heals: all replicas become equal, and all of it is committed. */
  converge(): void {
    this.messages.length = 0
    for (const id of IDS) this.unfence(id)
    this.settle()
    this.append(this.node(this.leaderId))
    for (let round = 0; round < 20; round++) {
      this.nowMs += 2 * LAG_MS
      for (const node of this.nodes) {
        this.sync(node)
        this.tick(node, 1)
        this.exchange(node)
        this.check()
      }
      this.settle()
    }
    const leader = this.node(this.leaderId)
    assert.equal(leader.highWatermark, leader.end, 'all is committed in the end')
    for (const node of this.nodes) assert.deepEqual(node.items, leader.items, `${node.id} is level in the end`)
    assert.equal(this.isr.length, IDS.length)
  }

  append(node: Node): void {
    if (node.leader === null) return
    node.items.push({ epoch: node.leader.leaderEpoch, id: this.nextId++ })
    this.progressed(node)
  }

  sync(node: Node): void {
    node.durable = node.end
    this.progressed(node)
  }

  progressed(node: Node): void {
    const positions = { endOffset: node.end, writtenOffset: node.end, durableOffset: node.durable }
    this.lead(node, { type: 'progressed', ...positions, nowMs: this.nowMs })
  }

  fetch(node: Node): void {
    const { follower } = node
    if (follower?.state === 'paused') follower.step({ type: 'tick', nowMs: Number.MAX_SAFE_INTEGER })
    if (follower === null || follower.state !== 'fetching') return
    const ask = {
      follower,
      leaderEpoch: follower.leaderEpoch,
      brokerEpoch: node.brokerEpoch,
      offset: node.end,
      lastEpoch: node.items.at(-1)?.epoch ?? -1,
      durable: node.durable,
    }
    node.asking = ask
    this.messages.push({ type: 'fetch', from: node, life: node.life, to: this.node(follower.leaderId), ask })
  }

  /** A fetch with its answer, and nothing between them. */
  exchange(node: Node): void {
    const before = this.messages.length
    this.fetch(node)
    if (this.messages.length === before) return
    this.deliver(this.messages.length - 1)
    this.deliver(this.messages.length - 1)
  }

  /** What has been decided reaches everyone. */
  settle(): void {
    while (this.proposals.length > 0) this.decide(1)
    for (const node of this.nodes) this.learn(node)
  }

  /** In any order: what an earlier connection carried may come later. */
  deliver(index: number): void {
    const [message] = this.messages.splice(index, 1)
    if (message?.type === 'fetch') this.answer(message)
    else if (message?.type === 'answer') this.take(message)
  }

  answer({ from, life, to, ask }: Extract<Message, { type: 'fetch' }>): void {
    const answer = this.answerOf(to, from, ask)
    this.messages.push({ type: 'answer', to: from, life, ask, answer })
  }

  answerOf(leader: Node, from: Node, ask: Ask): Answer {
    const nothing = { diverging: null, items: [], highWatermark: -1 }
    if (leader.leader?.leaderEpoch !== ask.leaderEpoch) return { ...nothing, errorCode: 75 }
    const end = leader.endOf(ask.lastEpoch)
    const diverges = ask.lastEpoch >= 0 && (end.leaderEpoch !== ask.lastEpoch || end.endOffset < ask.offset)
    if (diverges) return { ...nothing, errorCode: 0, diverging: end }
    if (ask.offset > leader.end) return { ...nothing, errorCode: 1 }
    const positions = { startOffset: 0, endOffset: ask.offset, writtenOffset: null, durableOffset: ask.durable }
    this.lead(leader, {
      type: 'fetched',
      replica: from.id,
      brokerEpoch: ask.brokerEpoch,
      ...positions,
      nowMs: this.nowMs,
    })
    const { highWatermark } = leader.leader
    return { errorCode: 0, diverging: null, items: leader.items.slice(ask.offset), highWatermark }
  }

  take({ to: node, life, ask, answer }: Extract<Message, { type: 'answer' }>): void {
    const { follower } = ask
    if (node.life !== life || node.follower !== follower || follower.state !== 'fetching') return
    // The driver has one request under way at a time: it has given up the others, with their connections.
    if (ask !== node.asking) return
    const { errorCode, diverging, items, highWatermark } = answer
    const ownEpoch = diverging === null ? null : node.endOf(diverging.leaderEpoch)
    const input = { divergingEpoch: diverging, ownEpoch, leaderStartOffset: 0, nowMs: this.nowMs }
    this.follow(node, { type: 'answered', errorCode, ...input, log: logOf(node) }, { items, highWatermark })
  }

  follow(node: Node, input: FollowerInput, sent: { items: readonly Item[]; highWatermark: number } | null): void {
    for (const effect of node.follower?.step(input) ?? []) {
      if (effect.type === 'append' && sent !== null) {
        node.items.push(...sent.items)
        const positions = { leaderHighWatermark: sent.highWatermark, leaderStartOffset: 0 }
        this.follow(node, { type: 'appended', ...positions, log: logOf(node) }, null)
      } else if (effect.type === 'truncate' || effect.type === 'restart') {
        this.truncate(node, effect.type === 'restart' ? 0 : effect.offset)
        assert.equal(effect.committedFrom, null, 'a clean election asks for committed records')
        this.follow(node, { type: 'truncated', log: logOf(node) }, null)
      } else if (effect.type === 'ask-offsets') {
        const leader = this.node(node.follower?.leaderId ?? 0)
        const isLeader = leader.leader?.leaderEpoch === node.follower?.leaderEpoch
        this.follow(
          node,
          { type: 'offsets', leader: isLeader ? logOf(leader) : null, log: logOf(node), nowMs: 0 },
          null,
        )
      } else if (effect.type === 'raise-high-watermark') node.highWatermark = effect.offset
    }
  }

  truncate(node: Node, offset: number): void {
    // A replica out of sync may still follow a leader from before the epoch in which the record was committed. That one need
    // not have it, and nobody counts on this copy; whoever is in sync is watched by I8.
    const isOlder = (node.follower?.leaderEpoch ?? -1) < (this.committedIn[offset] ?? -1)
    assert.ok(
      offset >= node.end || offset >= this.committed.length || !this.holds(node, offset) || isOlder,
      `I6: ${node.id} cuts to ${offset}`,
    )
    node.items.length = Math.min(node.items.length, offset)
    node.durable = Math.min(node.durable, offset)
  }

  /** Whether the item at `offset` is the committed one. */
  holds(node: Node, offset: number): boolean {
    return node.items[offset]?.id === this.committed[offset]?.id
  }

  tick(node: Node, pick: number): void {
    if (pick % 3 === 0) this.nowMs += LAG_MS
    this.lead(node, { type: 'tick', nowMs: this.nowMs })
  }

  lead(node: Node, input: Input): void {
    for (const effect of node.leader?.step(input) ?? []) {
      const leaderEpoch = node.leader?.leaderEpoch ?? -1
      if (effect.type === 'propose-isr') this.proposals.push({ leaderEpoch, effect })
      else this.commit(node, effect.offset)
    }
  }

  commit(node: Node, offset: number): void {
    node.highWatermark = offset
    for (let at = 0; at < offset; at++) {
      const item = node.items[at] as Item
      const known = this.committed[at]
      assert.ok(known === undefined || known.id === item.id, `I1: offset ${at} was ${known?.id}, now ${item.id}`)
      this.committed[at] = item
      this.committedIn[at] ??= node.leader?.leaderEpoch ?? -1
    }
    // I2: by what the controller knows, which may be more than the leader does.
    if (this.leaderEpoch !== node.leader?.leaderEpoch) return
    for (const id of this.isr) {
      assert.ok(
        this.node(id).durable >= offset,
        `I2: ${offset} is committed, ${id} has ${this.node(id).durable} on disk`,
      )
    }
  }

  /** AlterPartition reaches the controller, maybe late, maybe never. */
  decide(pick: number): void {
    if (this.proposals.length === 0) return
    const [proposal] = this.proposals.splice(pick % this.proposals.length, 1)
    if (proposal === undefined || pick % 10 === 0) return
    const { leaderEpoch, effect } = proposal
    if (leaderEpoch !== this.leaderEpoch || effect.partitionEpoch !== this.partitionEpoch) return
    const isEligible = effect.isr.every(({ id, brokerEpoch }) => {
      return !this.fenced.has(id) && brokerEpoch === this.node(id).brokerEpoch
    })
    if (!isEligible) {
      this.lead(this.node(this.leaderId), { type: 'isr-refused', nowMs: this.nowMs })
      return
    }
    this.isr = effect.isr.map(({ id }) => id)
    this.partitionEpoch += 1
  }

  /** The node hears what the controller has decided so far. */
  learn(node: Node): void {
    // The brokers' own registration comes first: a process that is not known leads nothing.
    const registration: Registration = {
      replicas: IDS,
      addingReplicas: [],
      isr: this.isr,
      elr: [],
      partitionEpoch: this.partitionEpoch,
    }
    const eligible = this.nodes
      .filter(({ id }) => !this.fenced.has(id))
      .map(({ id, brokerEpoch }): EligibleBroker => ({ id, brokerEpoch }))
    const { leaderEpoch } = this
    if (this.leaderId === node.id) {
      if (node.leader?.leaderEpoch === leaderEpoch)
        return this.lead(node, { type: 'registered', registration, eligible })
      node.follower = null
      this.becomeLeader(node, registration, eligible)
      return
    }
    node.leader = null
    if (this.leaderId < 0) node.follower = null
    else if (node.follower?.leaderEpoch !== leaderEpoch) {
      node.follower = new PartitionFollower({ leaderId: this.leaderId, leaderEpoch, highWatermark: node.highWatermark })
    }
  }

  becomeLeader(node: Node, registration: Registration, eligible: readonly EligibleBroker[]): void {
    for (const [at, item] of this.committed.entries())
      assert.equal(node.items[at]?.id, item.id, `I1: ${node.id} lacks ${at}`)
    node.leader = new PartitionLeader({
      nodeId: node.id,
      leaderEpoch: this.leaderEpoch,
      registration,
      eligible,
      durability: 'fsync',
      minInsyncReplicas: this.minInsync,
      lagTimeMaxMs: LAG_MS,
      endOffset: node.end,
      writtenOffset: node.end,
      durableOffset: node.durable,
      highWatermark: Math.min(node.highWatermark, node.end),
      nowMs: this.nowMs,
    })
    this.progressed(node)
  }

  /** The process dies, with or without the power; the next one registers at once, on a disk that has what was synced. */
  crash(node: Node, pick: number): void {
    node.items.length = node.durable + (pick % (node.end - node.durable + 1))
    node.durable = node.end
    // The checkpoint may be old.
    node.highWatermark = pick % (Math.min(node.highWatermark, node.end) + 1)
    node.leader = null
    node.follower = null
    node.life += 1
    node.brokerEpoch = this.nextBrokerEpoch++
    // A new incarnation is fenced at first. What it has on disk it has: it may stay in the ISR.
    this.fenced.add(node.id)
    if (pick % 2 === 0 && this.isr.length > 1) this.setIsr(this.isr.filter((id) => id !== node.id))
    if (this.leaderId === node.id) this.setLeader(this.alive()[0] ?? -1)
  }

  fence(id: number): void {
    this.fenced.add(id)
    if (this.isr.length > 1) this.setIsr(this.isr.filter((member) => member !== id))
    if (this.leaderId === id) this.setLeader(this.alive()[0] ?? -1)
  }

  unfence(id: number): void {
    this.fenced.delete(id)
    if (this.leaderId < 0 && this.isr.includes(id)) this.setLeader(id)
  }

  elect(pick: number): void {
    const alive = this.alive()
    if (alive.length > 0) this.setLeader(alive[pick % alive.length] as number)
  }

  alive(): number[] {
    return this.isr.filter((id) => !this.fenced.has(id))
  }

  setIsr(isr: readonly number[]): void {
    this.isr = isr
    this.partitionEpoch += 1
  }

  setLeader(id: number): void {
    this.leaderId = id
    this.leaderEpoch += 1
    this.partitionEpoch += 1
  }

  check(): void {
    // I3, and I5 with it: one epoch has one history.
    const [one, two, three] = this.nodes as [Node, Node, Node]
    for (const [a, b] of [
      [one, two],
      [one, three],
      [two, three],
    ] as const) {
      let at = Math.min(a.end, b.end) - 1
      while (at >= 0 && a.items[at]?.epoch !== b.items[at]?.epoch) at--
      for (; at >= 0; at--) assert.equal(a.items[at]?.id, b.items[at]?.id, `I3: ${a.id} and ${b.id} differ at ${at}`)
    }
    // I8: whoever is in the ISR has all that is committed.
    for (const id of this.isr) {
      for (const [at, item] of this.committed.entries()) {
        assert.equal(this.node(id).items[at]?.id, item.id, `I8: ${id} is in the ISR without ${at}`)
      }
    }
  }
}

function logOf({ end }: Node) {
  return { startOffset: 0, endOffset: end }
}

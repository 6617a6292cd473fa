import assert from 'node:assert/strict'
import type { MetadataImage, PartitionImage } from '../metadata/image.ts'
import { minInsync } from '../model/min-insync.ts'
import { AlterPartition } from '../protocol/apis/alter-partition.ts'
import { AlterPartitionReassignments } from '../protocol/apis/alter-partition-reassignments.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { RequestOf } from '../protocol/schema.ts'
import { commonLength, type Entry, type Leadership, newNode, progressOf, type ReplicaNode } from './replication-node.ts'
import { ShardCluster, type TestBroker } from './shard-cluster.ts'

export interface WorldOptions {
  readonly brokers: number
  readonly relaxed: boolean
  /** Null: not set. */
  readonly minInsyncReplicas: number | null
  readonly unclean: boolean
}

const TOPIC = 'orders'

/**
 * Real decisions of the controller, and brokers as simple as they can be: a log is an array, a fetch copies one. Every
 * message may come late, every broker sees its own past. What a leader commits is written down, and each leader that
 * begins must have all of it, unless the metadata says that its election was unclean (I1, I8).
 */
export class ReplicationWorld {
  readonly cluster = new ShardCluster()
  readonly nodes: readonly ReplicaNode[]
  readonly #images: MetadataImage[] = []
  readonly #options: WorldOptions
  readonly #requests: RequestOf<typeof AlterPartition>[] = []
  #committed: Entry[] = []
  #ids = 0
  /** Of the last unclean election: what an older leader still commits is lost with it. */
  #uncleanEpoch = -1
  /** How often a leader began cleanly with something committed: a run in which that never happens proves nothing. */
  cleanStarts = 0

  constructor(options: WorldOptions) {
    this.#options = options
    const ids = Array.from({ length: options.brokers }, (_, i) => i + 1)
    this.cluster.join(...ids.map((id) => ({ id })))
    const configs = { 'durability.mode': options.relaxed ? 'relaxed' : 'fsync' } as Record<string, string>
    if (options.minInsyncReplicas !== null) configs['min.insync.replicas'] = String(options.minInsyncReplicas)
    if (options.unclean) configs['unclean.leader.election.enable'] = 'true'
    this.cluster.createTopic(TOPIC, {
      numPartitions: -1,
      replicationFactor: -1,
      assignments: [{ partitionIndex: 0, brokerIds: ids.slice(0, Math.min(3, ids.length)) }],
      configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
    })
    this.nodes = ids.map((id) => newNode(id, this.cluster.image.broker(id)?.brokerEpoch ?? -1))
    this.#published()
    for (const node of this.nodes) this.see(node)
  }

  get partition(): PartitionImage {
    return this.cluster.image.partition(TOPIC, 0) as PartitionImage
  }

  get committed(): number {
    return this.#committed.length
  }

  /** Leads, as far as it knows itself. */
  produce(node: ReplicaNode): void {
    if (node.leadership === null || !node.alive) return
    node.log.push({ id: ++this.#ids, epoch: node.leadership.epoch })
    this.#commit(node)
  }

  sync(node: ReplicaNode): void {
    if (!node.alive) return
    node.durable = node.log.length
    this.#commit(node)
  }

  /** A while in which all that live do their work. */
  work(producing = true): void {
    for (const node of [...this.nodes, ...this.nodes]) {
      this.see(node)
      this.beat(node)
      this.see(node)
      if (producing) this.produce(node)
      this.fetch(node)
      this.sync(node)
      this.propose(node, () => false)
      this.deliver(0)
    }
  }

  /** Tells the leader what it holds, cuts off what the leader does not have, and takes what is new. */
  fetch(node: ReplicaNode): void {
    const seen = this.#partitionSeenBy(node)
    const leader = this.nodes.find(({ id }) => id === seen.leader)
    const leadership = leader?.leadership
    if (!node.alive || leader === undefined || leader === node || !leader.alive) return
    if (leadership?.epoch !== seen.leaderEpoch || !seen.replicas.includes(node.id)) return
    const same = commonLength(node.log, leader.log)
    node.log.length = same
    node.durable = Math.min(node.durable, same)
    leadership.progress.set(node.id, { held: same, durable: node.durable, brokerEpoch: node.brokerEpoch })
    this.#commit(leader)
    node.log.push(...leader.log.slice(same))
    node.highWatermark = Math.min(leader.highWatermark, node.log.length)
  }

  /** Reads the metadata up to the newest image, or only one further. */
  see(node: ReplicaNode, all = true): void {
    if (!node.alive) return
    node.view = all ? this.#images.length - 1 : Math.min(node.view + 1, this.#images.length - 1)
    const { leader, leaderEpoch, isr, partitionEpoch } = this.#partitionSeenBy(node)
    const registered = this.#imageSeenBy(node).broker(node.id)
    if (leader !== node.id || registered?.brokerEpoch !== node.brokerEpoch) {
      node.leadership = null
      return
    }
    if (node.leadership?.epoch !== leaderEpoch) this.#begin(node, leaderEpoch)
    const leadership = node.leadership as Leadership
    leadership.isr = isr
    leadership.partitionEpoch = partitionEpoch
    if (leadership.proposal !== null && leadership.proposal.basis < partitionEpoch) leadership.proposal = null
    this.#commit(node)
  }

  #begin(node: ReplicaNode, epoch: number): void {
    if (epoch !== this.#uncleanEpoch && this.#committed.length > 0) this.cleanStarts++
    const has = commonLength(this.#committed, node.log)
    assert.equal(has, this.#committed.length, `leader ${node.id} of epoch ${epoch} lacks what was committed`)
    node.highWatermark = Math.min(node.highWatermark, node.log.length)
    const startOffset = node.log.length
    node.leadership = { epoch, startOffset, isr: [], partitionEpoch: -1, proposal: null, progress: new Map() }
  }

  #commit(node: ReplicaNode): void {
    const { leadership } = node
    if (leadership === null || !node.alive) return
    const { replicas, addingReplicas } = this.#partitionSeenBy(node)
    const needed = minInsync(this.#minInsyncSeenBy(node), replicas.length - addingReplicas.length)
    if (leadership.isr.length < needed) return
    const members = new Set([...leadership.isr, ...(leadership.proposal?.isr ?? []), node.id])
    const counts = [...members].map((id) => {
      const { held, durable } =
        id === node.id ? { held: node.log.length, durable: node.durable } : progressOf(leadership, id)
      return this.#options.relaxed ? held : durable
    })
    node.highWatermark = Math.max(node.highWatermark, Math.min(...counts))
    if (leadership.epoch < this.#uncleanEpoch) return
    const now = node.log.slice(0, node.highWatermark)
    const same = commonLength(now, this.#committed)
    assert.equal(same, Math.min(now.length, this.#committed.length), 'two leaders committed different records')
    if (now.length > this.#committed.length) this.#committed = now
  }

  /** Asks for the ISR without those in `drop` and with all who may join. */
  propose(node: ReplicaNode, drop: (id: number) => boolean): void {
    const { leadership } = node
    if (leadership === null || !node.alive || leadership.proposal !== null) return
    const joins = this.#partitionSeenBy(node).replicas.filter((id) => this.#mayJoin(node, leadership, id))
    const members = new Set([...leadership.isr, ...joins].filter((id) => id === node.id || !drop(id)))
    const isr = [...members]
    if (isr.length === leadership.isr.length && isr.every((id) => leadership.isr.includes(id))) return
    leadership.proposal = { isr, basis: leadership.partitionEpoch }
    const seen = this.#imageSeenBy(node)
    const newIsrWithEpochs = isr.map((brokerId) => {
      return { brokerId, brokerEpoch: seen.broker(brokerId)?.brokerEpoch ?? -1 }
    })
    const partition = {
      partitionIndex: 0,
      leaderEpoch: leadership.epoch,
      partitionEpoch: leadership.partitionEpoch,
      leaderRecoveryState: 0,
      newIsr: [],
      newIsrWithEpochs,
    }
    const topicId = seen.topic(TOPIC)?.topicId ?? ''
    this.#requests.push({
      brokerId: node.id,
      brokerEpoch: node.brokerEpoch,
      topics: [{ topicId, partitions: [partition] }],
    })
  }

  #mayJoin(node: ReplicaNode, leadership: Leadership, id: number): boolean {
    const broker = this.#imageSeenBy(node).broker(id)
    const progress = progressOf(leadership, id)
    const counted = this.#options.relaxed ? progress.held : progress.durable
    const eligible = broker?.fenced === false && !broker.inControlledShutdown
    return (
      eligible &&
      broker.brokerEpoch === progress.brokerEpoch &&
      counted >= node.highWatermark &&
      counted >= leadership.startOffset
    )
  }

  /** One of the requests that are under way reaches the controller; refused, its leader may ask again. */
  deliver(which: number): void {
    const [request] = this.#requests.splice(which % Math.max(1, this.#requests.length), 1)
    if (request === undefined) return
    const response = this.cluster.ask(AlterPartition, request)
    this.#published()
    const errorCode = response.topics[0]?.partitions[0]?.errorCode
    // With another leader it was done: who asked leads no more, and until he sees it counts what he proposed.
    const refused = errorCode !== ErrorCode.NONE && errorCode !== ErrorCode.NEW_LEADER_ELECTED
    const leadership = this.nodes.find(({ id }) => id === request.brokerId)?.leadership
    const wanted = request.topics[0]?.partitions[0]
    if (!refused || leadership == null || wanted === undefined) return
    const isAnswered = leadership.proposal?.basis === wanted.partitionEpoch && leadership.epoch === wanted.leaderEpoch
    if (isAnswered) leadership.proposal = null
  }

  /** What was not synced may be gone: `kept` of it is left. */
  crash(node: ReplicaNode, kept: number): void {
    if (!node.alive) return
    node.alive = false
    node.leadership = null
    node.log.length = node.durable + (kept % (node.log.length - node.durable + 1))
    node.cleanEpoch = -1
  }

  stopCleanly(node: ReplicaNode): void {
    if (!node.alive) return
    this.sync(node)
    this.crash(node, 0)
    node.cleanEpoch = node.brokerEpoch
  }

  notice(node: ReplicaNode): void {
    if (node.alive) return
    this.cluster.lose(node.id, node.brokerEpoch)
    this.#published()
  }

  /** On its folder; on a copy of the folder as it once was; or on an empty one. */
  restart(node: ReplicaNode, folder: 'same' | 'old' | 'empty', cut: number): void {
    if (node.alive) return
    const broker: TestBroker = { id: node.id, previousBrokerEpoch: node.cleanEpoch }
    if (folder !== 'same') {
      this.notice(node)
      node.log.length = folder === 'empty' ? 0 : cut % (node.log.length + 1)
      if (folder === 'empty') node.directory = this.cluster.id(90)
      Object.assign(broker, { previousBrokerEpoch: -1, ownIncarnations: folder === 'old' ? [this.cluster.id(91)] : [] })
    }
    node.durable = node.log.length
    node.highWatermark = Math.min(node.highWatermark, node.log.length)
    const { brokerEpoch } = this.cluster.register({ ...broker, ...(node.directory && { directory: node.directory }) })
    assert.ok(brokerEpoch > node.brokerEpoch)
    Object.assign(node, { alive: true, brokerEpoch, cleanEpoch: -1 })
    this.#published()
  }

  /** Killed, and serving again before anybody had to wait. */
  bounce(node: ReplicaNode, kept: number): void {
    this.crash(node, kept)
    this.restart(node, 'same', 0)
    this.see(node)
    this.beat(node)
    this.see(node)
  }

  beat(node: ReplicaNode, wantShutDown = false): void {
    if (!node.alive) return
    const offset = this.#imageSeenBy(node).position.offset
    this.cluster.beat(node.id, { brokerEpoch: node.brokerEpoch, currentMetadataOffset: offset, wantShutDown })
    this.#published()
  }

  setMinInsync(value: number | null): void {
    this.cluster.setConfig(TOPIC, 'min.insync.replicas', value === null ? null : String(value))
    this.#published()
  }

  /** Moves the partition to other brokers; null gives the move up. */
  reassign(replicas: readonly number[] | null): void {
    const topics = [{ name: TOPIC, partitions: [{ partitionIndex: 0, replicas }] }]
    this.cluster.ask(AlterPartitionReassignments, { timeoutMs: 1000, allowReplicationFactorChange: true, topics })
    this.#published()
  }

  /** Every broker is well again, and everything that is under way arrives. */
  heal(): void {
    for (const node of this.nodes) {
      if (this.cluster.image.broker(node.id)?.inControlledShutdown) this.stopCleanly(node)
      this.restart(node, 'same', 0)
    }
    while (this.#requests.length > 0) this.deliver(0)
    for (let round = 0; round < 6; round++) this.work(round < 2)
  }

  #published(): void {
    const { image } = this.cluster
    if (this.#images.at(-1) === image) return
    const before = this.#images.at(-1)?.partition(TOPIC, 0)
    const { leader, leaderEpoch, leaderRecoveryState } = this.partition
    if (leader >= 0 && leaderEpoch !== before?.leaderEpoch && leaderRecoveryState === 1) {
      this.#uncleanEpoch = leaderEpoch
      const elected = this.nodes.find(({ id }) => id === leader)?.log ?? []
      this.#committed.length = commonLength(this.#committed, elected)
    }
    this.#images.push(image)
  }

  #imageSeenBy(node: ReplicaNode): MetadataImage {
    return this.#images[node.view] as MetadataImage
  }

  #partitionSeenBy(node: ReplicaNode): PartitionImage {
    return this.#imageSeenBy(node).partition(TOPIC, 0) as PartitionImage
  }

  #minInsyncSeenBy(node: ReplicaNode): number | null {
    const value = this.#imageSeenBy(node).configOf({ type: 2, name: TOPIC }).get('min.insync.replicas')
    return value === undefined ? null : Number(value)
  }
}

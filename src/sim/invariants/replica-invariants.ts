import { assert, bug } from '../../base/assert.ts'
import type { MetadataImage, PartitionImage } from '../../metadata/image.ts'
import type { Partition } from '../../replica/partition.ts'
import type { PartitionLog } from '../../storage/partition-log.ts'
import type { SimNode } from '../cluster/sim-node.ts'
import { divergence, type Lineage } from './lineage.ts'

/** What one node was last seen to hold of a partition. It stays when the node dies: so the disk must hold that much. */
class Replica {
  readonly partition: Partition
  readonly log: PartitionLog
  /** See `Machine.harms`. */
  readonly harms: number
  highWatermark = 0
  leaderEpoch = -1
  /** The partition was moved away since: this copy may go, and one that comes back here begins anew. */
  isGivenUp = false
  /** When it was last seen well: whether its log was being cut. One that fails over that stays half cut. */
  isBeingCut = false
  /** As it was after the last event. */
  lineage: Lineage
  /** Who led here until the last event, and does no more. */
  resigned: Partition['leader'] = null
  #seenLeader: Partition['leader'] = null
  #seenLeaderEpoch = -1
  #seenHighWatermark = -1

  constructor(partition: Partition, log: PartitionLog, harms: number) {
    this.partition = partition
    this.log = log
    this.harms = harms
    this.lineage = lineageOf(log)
  }

  /** Nothing that any of the checks looks at is other than at the last call: what held then holds now. */
  isAsBefore(): boolean {
    const { partition, log, lineage } = this
    const { leader, highWatermark } = partition
    const isLog = lineage.endOffset === log.endOffset && lineage.startOffset === log.logStartOffset
    const leaderEpoch = leader === null ? -1 : leader.leaderEpoch
    const isLeader = leader === this.#seenLeader && leaderEpoch === this.#seenLeaderEpoch
    if (isLog && isLeader && highWatermark === this.#seenHighWatermark) return true
    this.resigned = leader === null ? this.#seenLeader : null
    this.#seenLeader = leader
    this.#seenLeaderEpoch = leaderEpoch
    this.#seenHighWatermark = highWatermark
    return false
  }

  /** As it is now. The epochs are copied only when they have changed. */
  look(): Lineage {
    const { epochs, logStartOffset: startOffset, endOffset } = this.log
    const before = this.lineage
    if (before.endOffset === endOffset && before.startOffset === startOffset) return before
    const isSame = before.epochs.length === epochs.entries.length && before.epochs.at(-1)?.epoch === epochs.latest
    const entries = isSame && before.startOffset === startOffset ? before.epochs : [...epochs.entries]
    this.lineage = { epochs: entries, startOffset, endOffset }
    return this.lineage
  }

  /** By the topic's durability mode. */
  get counted(): number {
    return this.partition.settings.log.durabilityMode === 'fsync' ? this.log.durableOffset : this.log.writtenOffset
  }
}

const NOTHING: Lineage = { epochs: [], startOffset: 0, endOffset: 0 }
/** Of `leaderRecoveryState` (KIP-704). */
const RECOVERING = 1

/** Everything known of a partition of the cluster, over all its leaders. */
class Known {
  readonly name: string
  readonly leaders = new Map<number, number>()
  readonly replicas = new Map<number, Replica>()
  /** Of the leader that committed last; what it committed must be with every later leader. */
  committed: Lineage = NOTHING
  newestEpoch = -1
  #gaveUpIn = -1

  constructor(name: string) {
    this.name = name
  }

  led(epoch: number, nodeId: number): void {
    this.leaders.set(epoch, nodeId)
    this.newestEpoch = Math.max(this.newestEpoch, epoch)
  }

  givesUp(leaderEpoch: number): void {
    if (leaderEpoch <= this.#gaveUpIn) return
    this.#gaveUpIn = leaderEpoch
    this.committed = NOTHING
  }
}

/** One replica of a node and where it belongs. Its log is not there before it is open. */
interface Watched {
  readonly partition: Partition
  held: { readonly known: Known; readonly replica: Replica } | null
}

/** The partitions of one node, as of its last change of them. */
interface Hosted {
  readonly all: readonly Partition[]
  readonly watched: readonly Watched[]
}

/**
 * What must hold between the replicas of a partition, in truth and not only as far as they know of each other. Looked at
 * after every event of a node, for the partitions of that node.
 */
export class ReplicaInvariants {
  readonly #known = new Map<string, Known>()
  /** By node. */
  readonly #hosted = new Map<number, Hosted>()
  /** Its offset. */
  #newestImage = -1

  check(node: SimNode): void {
    const hosted = node.node?.replicas?.hosted
    if (hosted === undefined) return
    for (const watched of this.#watched(node, hosted.all)) this.#look(node, watched)
  }

  #watched(node: SimNode, all: readonly Partition[]): readonly Watched[] {
    const before = this.#hosted.get(node.nodeId)
    if (before?.all === all) return before.watched
    const earlier = new Map(before?.watched.map((watched) => [watched.partition, watched]))
    const watched = all.map((partition) => earlier.get(partition) ?? { partition, held: null })
    this.#hosted.set(node.nodeId, { all, watched })
    return watched
  }

  #look(node: SimNode, watched: Watched): void {
    const { log } = watched.partition
    if (log === null || log.failure !== null) return
    watched.held ??= this.#begin(node, watched.partition, log)
    const { known, replica } = watched.held
    replica.isBeingCut = watched.partition.settled !== null
    if (replica.isAsBefore() || known.replicas.get(node.nodeId) !== replica) return
    this.#checkCut(node, known, replica)
    this.#checkLeader(node, known, replica)
    this.#checkHighWatermark(node, known, replica)
  }

  /** What the cluster has decided: who has a replica. */
  placed(image: MetadataImage): void {
    for (const [key, known] of this.#known) {
      const [topicId = '', index = ''] = key.split(' ')
      const partition = image.topicById(topicId)?.partitions[Number(index)]
      if (partition === undefined) continue
      for (const [id, replica] of known.replicas) replica.isGivenUp ||= !partition.replicas.includes(id)
      // An unclean election, on record: what it gives up was committed, and is so no more (I6).
      if (partition.leaderRecoveryState === RECOVERING) known.givesUp(partition.leaderEpoch)
    }
  }

  /**
   * I8: whom the newest image has in sync, or eligible, may be elected, so it holds all that is committed. Asked when an
   * image is first seen, if none is newer: the leader may know of that by then.
   */
  checkMembers(image: MetadataImage, nodeOf: (nodeId: number) => SimNode | undefined): void {
    if (image.position.offset <= this.#newestImage) return
    this.#newestImage = image.position.offset
    for (const { topicId, partitions } of image.topicsByName.values()) {
      for (const [index, partition] of partitions.entries()) {
        const known = this.#known.get(`${topicId} ${index}`)
        if (known === undefined || known.committed.endOffset === 0) continue
        for (const id of [...partition.isr, ...partition.elr]) checkMember(known, { id, node: nodeOf(id), partition })
      }
    }
  }

  /** The first look at a replica after a start: nothing that was durable may be missing (S1). */
  #begin(node: SimNode, partition: Partition, log: PartitionLog): { known: Known; replica: Replica } {
    const key = `${partition.topicId} ${partition.topicPartition.partition}`
    const known = this.#known.get(key) ?? new Known(partition.name)
    this.#known.set(key, known)
    const { endOffset } = log
    const before = known.replicas.get(node.nodeId)
    // A log that failed has lost its way; what it said last counts, what it did afterwards does not.
    const { harms } = node.machine
    if (before?.partition.isDamaged === true) this.#checkRepair(node, partition)
    const isComparable = before?.harms === harms && !before.isGivenUp && !before.partition.isDamaged
    if (isComparable && partition.settings.log.durabilityMode === 'fsync') {
      const { durableOffset } = before.log
      // One that died, or failed, while it cut what it must not keep may have got any way with that; what is committed
      // stays (I6).
      const kept = before.isBeingCut
        ? Math.min(durableOffset, divergence(before.lineage, known.committed))
        : durableOffset
      assert(endOffset >= kept, `S1: ${node.machine.name} has ${log.dump()}, durable was ${kept}`)
    }
    const replica = new Replica(partition, log, harms)
    known.replicas.set(node.nodeId, replica)
    return { known, replica }
  }

  /** S3: a damaged log is given up only when nobody counts on it any more. */
  #checkRepair(node: SimNode, { name, topicPartition }: Partition): void {
    const { isr, elr } =
      node.node?.replicas?.hosted.image.partition(topicPartition.topic, topicPartition.partition) ?? {}
    const counts = isr?.includes(node.nodeId) === true || elr?.includes(node.nodeId) === true
    assert(!counts, `S3: ${node.machine.name} begins ${name} anew, isr=(${isr}) elr=(${elr})`)
  }

  /** I6: what is cut off was not committed. */
  #checkCut(node: SimNode, { name, committed }: Known, replica: Replica): void {
    const before = replica.lineage
    const { startOffset, endOffset } = replica.look()
    if (endOffset >= before.endOffset || startOffset >= before.endOffset) return
    const common = divergence(before, committed)
    const text = `${node.machine.name} cut ${name} from ${before.endOffset} to ${endOffset}`
    assert(endOffset >= common, `I6: ${text}, though it held what is committed up to ${common}`)
  }

  #checkLeader(node: SimNode, known: Known, replica: Replica): void {
    const { leader } = replica.partition
    if (leader === null || leader.leaderEpoch === replica.leaderEpoch) return
    replica.leaderEpoch = leader.leaderEpoch
    replica.highWatermark = 0
    const other = known.leaders.get(leader.leaderEpoch) ?? node.nodeId
    assert(other === node.nodeId, `I5: ${known.name} is led by ${other} and ${node.nodeId} in ${leader.leaderEpoch}`)
    known.led(leader.leaderEpoch, node.nodeId)
    // One that is behind on metadata may lead in an epoch that is over, and gets nowhere in it.
    if (leader.leaderEpoch === known.newestEpoch) this.#checkCompleteness(known)
  }

  /** I1: the leader of the newest epoch holds all that was ever committed. */
  #checkCompleteness(known: Known): void {
    const epoch = known.newestEpoch
    const nodeId = known.leaders.get(epoch)
    const replica = nodeId === undefined ? undefined : known.replicas.get(nodeId)
    if (replica?.partition.leader?.leaderEpoch !== epoch) return
    const common = divergence(replica.lineage, known.committed)
    const { endOffset } = known.committed
    if (common >= endOffset) return
    bug(
      `I1: node ${nodeId} leads ${known.name} in epoch ${epoch} with ${replica.log.dump()}; ` +
        `it holds what was committed up to ${common}, committed was ${endOffset}`,
    )
  }

  /** I2: what is committed is on all that are in sync, as durable as the topic wants it. */
  #checkHighWatermark(node: SimNode, known: Known, replica: Replica): void {
    const { partition } = replica
    const { highWatermark } = partition
    // What it committed before it gave way, in the same event, counts as well.
    const leader = partition.leader ?? replica.resigned
    const committed = known.committed.endOffset
    if (leader === null) {
      if (highWatermark <= committed) return
      bug(`I2: ${node.machine.name} takes ${highWatermark} of ${known.name} for committed, ${committed} is`)
    }
    if (partition.leader === null && highWatermark <= committed) return
    if (highWatermark === replica.highWatermark) return
    if (!(highWatermark > replica.highWatermark)) bug(`I2: the high watermark of ${partition.dump()} was higher`)
    replica.highWatermark = highWatermark
    if (highWatermark <= committed) return
    for (const id of leader.isr) {
      const holder = known.replicas.get(id)
      const held = holder?.counted ?? 0
      if (!(held >= highWatermark))
        bug(`I2: ${partition.dump()} has committed what node ${id} holds only up to ${held}`)
    }
    known.committed = { ...replica.lineage, endOffset: highWatermark }
    this.#checkCompleteness(known)
  }
}

function checkMember(
  known: Known,
  { id, node, partition }: { id: number; node: SimNode | undefined; partition: PartitionImage },
): void {
  const replica = known.replicas.get(id)
  if (replica === undefined || node === undefined) return
  // What its disk holds now nobody has looked at, nor has the controller heard of it.
  if (replica.isGivenUp || replica.harms !== node.machine.harms) return
  // What a relaxed topic loses with the power, likewise.
  const isRelaxed = replica.partition.settings.log.durabilityMode === 'relaxed'
  if (isRelaxed && node.process === null) return
  const { committed } = known
  const held = { ...replica.lineage, endOffset: Math.min(replica.lineage.endOffset, replica.counted) }
  const common = divergence(held, committed)
  const { isr, elr } = partition
  assert(
    common >= committed.endOffset,
    `I8: ${known.name} has isr (${isr}) elr (${elr}); node ${id} holds ${common} of ${committed.endOffset} committed`,
  )
}

function lineageOf({ epochs, logStartOffset, endOffset }: PartitionLog): Lineage {
  return { epochs: [...epochs.entries], startOffset: logStartOffset, endOffset }
}

import { assert } from '../../base/assert.ts'
import { crc32c } from '../../base/crc32c.ts'
import type { MetadataImage, PartitionImage, TopicImage } from '../../metadata/image.ts'
import type { SimNode } from '../cluster/sim-node.ts'
import type { Process } from '../machine.ts'

interface Seen {
  readonly process: Process
  image: MetadataImage
}

/** What must hold of the cluster's metadata, wherever it is looked at. */
export class ImageInvariants {
  /** By offset; the first node that came there set it. */
  readonly #digests = new Map<number, number>()
  readonly #seen = new Map<number, Seen>()
  readonly #onImage: (image: MetadataImage) => void
  /** By topic and partition: the newest that any node has shown. */
  readonly #newest = new Map<string, { offset: number; partition: PartitionImage }>()

  /** `onImage` hears of every image, when the first node shows it. */
  constructor(onImage: (image: MetadataImage) => void) {
    this.#onImage = onImage
  }

  check(node: SimNode): void {
    const { process } = node
    const image = node.node?.image
    if (process === null || image === undefined || image.position.offset < 0) return
    const seen = this.#seen.get(node.nodeId)
    if (seen !== undefined && seen.process === process) {
      if (seen.image === image) return
      const [before, after] = [seen.image.position.offset, image.position.offset]
      assert(after >= before, `I12: ${node.machine.name} went back from metadata ${before} to ${after}`)
      seen.image = image
    } else this.#seen.set(node.nodeId, { process, image })
    this.#compare(node, image)
  }

  /** I12: at one offset there is one image. */
  #compare(node: SimNode, image: MetadataImage): void {
    const { offset } = image.position
    const digest = digestOf(image)
    const known = this.#digests.get(offset)
    assert((known ?? digest) === digest, `I12: ${node.machine.name} has another image of offset ${offset}`)
    if (known !== undefined) return
    this.#digests.set(offset, digest)
    this.#onImage(image)
    for (const topic of image.topicsByName.values()) {
      topic.partitions.forEach((partition, index) => {
        checkPartition(image, `${topic.name}-${index}`, partition)
        this.#checkEpochs(offset, `${topic.topicId} ${topic.name}-${index}`, partition)
      })
    }
  }

  /** I7: epochs grow with the log, and one partition epoch is one state. */
  #checkEpochs(offset: number, name: string, partition: PartitionImage): void {
    const newest = this.#newest.get(name)
    if (newest === undefined || newest.offset < offset) this.#newest.set(name, { offset, partition })
    if (newest === undefined) return
    const [earlier, later] = newest.offset < offset ? [newest.partition, partition] : [partition, newest.partition]
    assert(earlier.partitionEpoch <= later.partitionEpoch, `I7: the partition epoch of ${name} went back`)
    assert(earlier.leaderEpoch <= later.leaderEpoch, `I7: the leader epoch of ${name} went back`)
    if (earlier.partitionEpoch < later.partitionEpoch) return
    assert(printed(earlier) === printed(later), `I7: ${name} has two states in one epoch`)
  }
}

/** I7, I8: only those who may be are in sync, eligible, or lead. */
function checkPartition(image: MetadataImage, name: string, partition: PartitionImage): void {
  const { replicas, isr, elr, leader } = partition
  const fail = (what: string) =>
    assert(false, `I8: ${name} at ${image.position.offset}: ${what}: ${printed(partition)}`)
  if (![...isr, ...elr].every((id) => replicas.includes(id))) fail('in sync, or eligible, without a replica')
  if (elr.some((id) => isr.includes(id))) fail('in sync and eligible')
  if (leader >= 0 && !isr.includes(leader)) fail('the leader is not in sync')
  const isAlive = (id: number) => image.broker(id)?.fenced === false
  if (leader >= 0 && !isAlive(leader)) fail('the leader is fenced')
  // The last one stays in the ISR of a topic without eligible replicas, whatever becomes of it.
  if (isr.length > 1 || leader >= 0) {
    const gone = isr.find((id) => !isAlive(id))
    if (gone !== undefined) fail(`node ${gone} is fenced and in sync`)
  }
}

/** Of all that is compared, in whatever order the maps have it. */
function digestOf(image: MetadataImage): number {
  let sum = image.nextProducerId
  for (const topic of image.topicsByName.values()) sum += digestOfTopic(topic)
  for (const { brokerId, brokerEpoch, fenced, inControlledShutdown } of image.brokers.values()) {
    sum += digestOfText(`${brokerId} ${brokerEpoch} ${fenced} ${inControlledShutdown}`)
  }
  for (const { type, name, values } of image.configs.values()) {
    sum += digestOfText(`${type} ${name} ${JSON.stringify([...values])}`)
  }
  return sum
}

/** Images share the topics that did not change. */
const topicDigests = new WeakMap<TopicImage, number>()

function digestOfTopic(topic: TopicImage): number {
  let digest = topicDigests.get(topic)
  if (digest === undefined) {
    digest = digestOfText(`${topic.name} ${topic.topicId} ${topic.partitions.map(printed).join(' ')}`)
    topicDigests.set(topic, digest)
  }
  return digest
}

function digestOfText(text: string): number {
  return crc32c(Buffer.from(text))
}

function printed(partition: PartitionImage): string {
  const { replicas, isr, elr, lastKnownElr, leader, leaderEpoch, partitionEpoch } = partition
  const { addingReplicas, removingReplicas, leaderRecoveryState } = partition
  const sets = [replicas, isr, elr, lastKnownElr, addingReplicas, removingReplicas].map((ids) => ids.join(','))
  return `leader ${leader} epoch ${leaderEpoch}/${partitionEpoch} recovery ${leaderRecoveryState} (${sets.join(' ')})`
}

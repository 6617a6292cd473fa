import { assert } from '../../base/assert.ts'
import type { BrokerImage, MetadataImage, PartitionImage } from '../../metadata/image.ts'

/** What is true of a broker that has just come back, whatever it says of itself. */
export interface Comeback {
  /** The process before ended in order, on the same files. */
  readonly wasClean: boolean
}

export interface ComebackOptions {
  /** Null where nothing is known of this incarnation. */
  comebackOf(broker: BrokerImage): Comeback | null
  isRelaxed(image: MetadataImage, topic: string): boolean
}

interface Registered {
  readonly brokerEpoch: number
  readonly logDirs: readonly string[]
}

/**
 * I9: where a broker comes back without all that it counted, its replicas are neither in sync nor eligible until they have
 * caught up: after an unclean stop in relaxed topics, and on another disk anywhere. Looked at in the first image that has
 * the new registration, while it is fenced: nothing can have caught up by then.
 */
export class ComebackInvariants {
  readonly #options: ComebackOptions
  readonly #registered = new Map<number, Registered>()
  #lastOffset = -1

  constructor(options: ComebackOptions) {
    this.#options = options
  }

  /** Any node's image; those that were seen are passed over. */
  check(image: MetadataImage): void {
    if (image.position.offset <= this.#lastOffset) return
    this.#lastOffset = image.position.offset
    for (const broker of image.brokers.values()) {
      const before = this.#registered.get(broker.brokerId)
      if (before?.brokerEpoch === broker.brokerEpoch) continue
      const { brokerEpoch, logDirs } = broker
      this.#registered.set(broker.brokerId, { brokerEpoch, logDirs })
      if (before !== undefined && broker.fenced) this.#checkComeback(image, broker, before)
    }
  }

  #checkComeback(image: MetadataImage, broker: BrokerImage, before: Registered): void {
    const { brokerId, logDirs } = broker
    const isSameDisk = logDirs.every((id) => before.logDirs.includes(id))
    const comeback = this.#options.comebackOf(broker)
    const mayLack = (topic: string) =>
      !isSameDisk || (comeback?.wasClean === false && this.#options.isRelaxed(image, topic))
    for (const { name, partitions } of image.topicsByName.values()) {
      if (!mayLack(name)) continue
      for (const [index, partition] of partitions.entries()) {
        const where = `${name}-${index} at ${image.position.offset}`
        assert(
          !counts(partition, brokerId),
          `I9: node ${brokerId} came back without all it had, and counts in ${where}`,
        )
      }
    }
  }
}

/** The last one that is left of an ISR where nobody is remembered as eligible is no promise: nobody leads. */
function counts({ isr, elr, leader }: PartitionImage, brokerId: number): boolean {
  if (elr.includes(brokerId)) return true
  return isr.includes(brokerId) && (isr.length > 1 || leader >= 0)
}

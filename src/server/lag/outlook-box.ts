import type { PartitionOutlook } from '../../group/outlook-book.ts'

interface Coordinator {
  readonly brokerEpoch: number
  /** Number of the newest change that it has heard. */
  heard: number
}

/** A time that moved by less than this share of what is left is no news. */
const MOVED_SHARE = 0.2
const MOVED_MS_MIN = 60_000

/**
 * The newest outlook of each partition that is led here, and which coordinators have heard of which. An outlook takes the
 * place of its predecessor, so there is never more than one for each partition. Pure: who sends says what was heard.
 */
export class OutlookBox {
  /** In the order of their numbers. */
  readonly #outlooks = new Map<string, { readonly outlook: PartitionOutlook; readonly number: number }>()
  readonly #coordinators = new Map<number, Coordinator>()
  #lastNumber = 0

  /** Whether it is news. */
  put(outlook: PartitionOutlook, nowMs: number): boolean {
    const key = keyOf(outlook)
    const known = this.#outlooks.get(key)?.outlook
    const isNothing = outlook.startOffset === 0 && outlook.steps.length === 0
    if (known === undefined ? isNothing : isSame(known, outlook, nowMs)) return false
    this.#outlooks.delete(key)
    this.#outlooks.set(key, { outlook, number: ++this.#lastNumber })
    return true
  }

  get(topic: string, partition: number): PartitionOutlook | undefined {
    return this.#outlooks.get(keyOf({ topic, partition }))?.outlook
  }

  /** The partition is led here no more. */
  remove(topic: string, partition: number): void {
    this.#outlooks.delete(keyOf({ topic, partition }))
  }

  /** The nodes that coordinate groups now, with the epochs of their registrations. One that has started anew knows nothing. */
  setCoordinators(epochs: ReadonlyMap<number, number>): void {
    for (const nodeId of [...this.#coordinators.keys()]) if (!epochs.has(nodeId)) this.#coordinators.delete(nodeId)
    for (const [nodeId, brokerEpoch] of epochs) {
      if (this.#coordinators.get(nodeId)?.brokerEpoch === brokerEpoch) continue
      this.#coordinators.set(nodeId, { brokerEpoch, heard: 0 })
    }
  }

  /** Coordinators that have not heard everything. */
  behind(): number[] {
    if (this.#outlooks.size === 0) return []
    return [...this.#coordinators].flatMap(([nodeId, { heard }]) => (heard < this.#lastNumber ? [nodeId] : []))
  }

  /** The oldest `max` of what it has not heard; `upTo` is for `heard`. */
  unheard(nodeId: number, max: number): { outlooks: PartitionOutlook[]; brokerEpoch: number; upTo: number } | null {
    const coordinator = this.#coordinators.get(nodeId)
    if (coordinator === undefined || coordinator.heard >= this.#lastNumber) return null
    const outlooks: PartitionOutlook[] = []
    let upTo = coordinator.heard
    for (const { outlook, number } of this.#outlooks.values()) {
      if (number <= coordinator.heard) continue
      if (outlooks.length === max) return { outlooks, brokerEpoch: coordinator.brokerEpoch, upTo }
      outlooks.push(outlook)
      upTo = number
    }
    return { outlooks, brokerEpoch: coordinator.brokerEpoch, upTo: this.#lastNumber }
  }

  heard(nodeId: number, brokerEpoch: number, upTo: number): void {
    const coordinator = this.#coordinators.get(nodeId)
    if (coordinator?.brokerEpoch === brokerEpoch) coordinator.heard = Math.max(coordinator.heard, upTo)
  }
}

function keyOf({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}-${partition}`
}

function isSame(known: PartitionOutlook, next: PartitionOutlook, nowMs: number): boolean {
  return (
    known.topicId === next.topicId &&
    known.leaderEpoch === next.leaderEpoch &&
    known.startOffset === next.startOffset &&
    known.steps.length === next.steps.length &&
    known.steps.every((step, index) => isSameStep(step, next.steps[index], nowMs))
  )
}

type Step = PartitionOutlook['steps'][number]

function isSameStep(known: Step, next: Step | undefined, nowMs: number): boolean {
  if (next === undefined || known.endOffset !== next.endOffset) return false
  return Math.abs(known.dueMs - next.dueMs) <= Math.max(MOVED_MS_MIN, MOVED_SHARE * (next.dueMs - nowMs))
}

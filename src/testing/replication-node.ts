export interface Entry {
  readonly id: number
  readonly epoch: number
}

export interface Progress {
  readonly held: number
  readonly durable: number
  readonly brokerEpoch: number
}

/** One leadership, as its own broker sees it. */
export interface Leadership {
  readonly epoch: number
  readonly startOffset: number
  isr: readonly number[]
  partitionEpoch: number
  /** Members that it has asked for, on the partition epoch it asked with. */
  proposal: { readonly isr: readonly number[]; readonly basis: number } | null
  readonly progress: Map<number, Progress>
}

export interface ReplicaNode {
  readonly id: number
  alive: boolean
  brokerEpoch: number
  /** Which of the images it has applied. */
  view: number
  log: Entry[]
  durable: number
  highWatermark: number
  leadership: Leadership | null
  directory: string | undefined
  /** Of its last clean stop. */
  cleanEpoch: number
}

export function newNode(id: number, brokerEpoch: number): ReplicaNode {
  return {
    id,
    alive: true,
    brokerEpoch,
    view: 0,
    log: [],
    durable: 0,
    highWatermark: 0,
    leadership: null,
    directory: undefined,
    cleanEpoch: -1,
  }
}

/** What the leader was last told by a follower. */
export function progressOf(leadership: Leadership, id: number): Progress {
  return leadership.progress.get(id) ?? { held: 0, durable: 0, brokerEpoch: -1 }
}

export function commonLength(a: readonly Entry[], b: readonly Entry[]): number {
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i++) if (a[i]?.id !== b[i]?.id || a[i]?.epoch !== b[i]?.epoch) return i
  return end
}

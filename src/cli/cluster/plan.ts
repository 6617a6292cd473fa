import type { TopicPartition } from '../../model/ids.ts'

export interface PlanNode {
  readonly nodeId: number
  readonly zone: string | null
  readonly host: string
}

export interface Placed extends TopicPartition {
  /** The preferred leader first. */
  readonly replicas: readonly number[]
}

export interface Move extends Placed {
  readonly from: readonly number[]
}

/**
 * Places the partitions on `nodes` with the fewest moves: copies that lie there stay, unless their node would hold more than
 * its share; no two copies of a partition share a zone, or else a host, where that can be helped. Returns the partitions that change;
 * null when there are fewer nodes than copies.
 */
export function planMoves(partitions: readonly Placed[], nodes: readonly PlanNode[]): Move[] | null {
  if (partitions.some(({ replicas }) => replicas.length > nodes.length)) return null
  const plan = new Plan(partitions, nodes)
  plan.fill(nodes)
  plan.level()
  return plan.moves()
}

/**
 * The same for what lies on a node that is to be empty, all else staying where it is. `rest` are all other nodes, `serving`
 * those of them that can take copies now. A partition: there is no node for its copy.
 */
export function planDrain(
  partitions: readonly Placed[],
  { rest, serving }: { readonly rest: readonly PlanNode[]; readonly serving: readonly PlanNode[] },
): readonly Move[] | Placed {
  const known = new Set(rest.map(({ nodeId }) => nodeId))
  const stuck = partitions.find(({ replicas }) => {
    const leaving = replicas.filter((id) => !known.has(id)).length
    return leaving > serving.filter(({ nodeId }) => !replicas.includes(nodeId)).length
  })
  if (stuck !== undefined) return stuck
  const plan = new Plan(partitions, rest)
  plan.fill(serving)
  return plan.moves()
}

class Plan {
  readonly #before: readonly Placed[]
  readonly #nodes: ReadonlyMap<number, PlanNode>
  readonly #replicas: number[][]
  /** Copies on each node. */
  readonly #load: Map<number, number>

  constructor(partitions: readonly Placed[], nodes: readonly PlanNode[]) {
    this.#before = partitions
    this.#nodes = new Map(nodes.map((node) => [node.nodeId, node]))
    this.#replicas = partitions.map(({ replicas }) => [...replicas])
    this.#load = new Map(nodes.map(({ nodeId }) => [nodeId, 0]))
    for (const id of this.#replicas.flat()) if (this.#load.has(id)) this.#count(id, 1)
  }

  #count(nodeId: number, change: number): void {
    this.#load.set(nodeId, (this.#load.get(nodeId) ?? 0) + change)
  }

  /** Every copy that lies elsewhere gets a node, and keeps its place in the order. */
  fill(targets: readonly PlanNode[]): void {
    for (const replicas of this.#replicas) {
      for (const [at, id] of replicas.entries()) {
        if (!this.#nodes.has(id)) this.#place(replicas, at, this.#best(replicas, at, targets))
      }
    }
  }

  #place(replicas: number[], at: number, to: number): void {
    const from = replicas[at] as number
    if (this.#load.has(from)) this.#count(from, -1)
    this.#count(to, 1)
    replicas[at] = to
  }

  #best(replicas: readonly number[], at: number, targets: readonly PlanNode[]): number {
    const others = replicas.filter((id, index) => index !== at && this.#nodes.has(id))
    const free = targets.map(({ nodeId }) => nodeId).filter((id) => !replicas.includes(id))
    const cost = (id: number) => [this.#shared(id, others), this.#load.get(id) ?? 0, id]
    return free.toSorted((left, right) => compare(cost(left), cost(right)))[0] as number
  }

  /** How much it would share with the other copies: a zone weighs more than a host. */
  #shared(id: number, others: readonly number[]): number {
    const { zone, host } = this.#nodes.get(id) as PlanNode
    const theirs = others.map((other) => this.#nodes.get(other) as PlanNode)
    const zones = theirs.filter((other) => other.zone === zone).length
    return zones * 1000 + theirs.filter((other) => other.host === host).length
  }

  /** Takes copies from the fullest nodes to the emptiest ones, while that evens out. */
  level(): void {
    for (;;) {
      const byLoad = [...this.#load].toSorted((left, right) => left[1] - right[1] || left[0] - right[0])
      const [emptiest, fullest] = [byLoad[0], byLoad.at(-1)]
      if (emptiest === undefined || fullest === undefined || fullest[1] - emptiest[1] < 2) return
      if (!byLoad.some(([to]) => this.#moveOne(fullest, to))) return
    }
  }

  #moveOne([from, load]: readonly [number, number], to: number): boolean {
    if (load - (this.#load.get(to) ?? 0) < 2) return false
    for (const replicas of this.#replicas) {
      const at = replicas.indexOf(from)
      if (at < 0 || replicas.includes(to)) continue
      const others = replicas.filter((id) => id !== from)
      if (this.#shared(to, others) > this.#shared(from, others)) continue
      this.#place(replicas, at, to)
      return true
    }
    return false
  }

  moves(): Move[] {
    return this.#before.flatMap(({ topic, partition, replicas: from }, index) => {
      const replicas = this.#replicas[index] as number[]
      return replicas.every((id, at) => id === from[at]) ? [] : [{ topic, partition, from, replicas }]
    })
  }
}

function compare(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((value, index) => value !== right[index])
  return at < 0 ? 0 : (left[at] as number) - (right[at] as number)
}
